package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// house is an executor and its exchange on a disk whose power is cut, with
// valves that are on no disk of theirs.
type house struct {
	*testing.T
	*disk
	*errands
	binary string
	world  string // where the valves' logs are, on a disk that can be frozen
	cuts   int
}

func newHouse(t *testing.T, binary string) *house {
	t.Helper()
	h := &house{T: t, disk: newDisk(t), binary: binary}
	img := h.blank(h.disk.dir, "world.img", 64<<20)
	h.disk.run("mkfs.ext4", "-q", img)
	h.world = filepath.Join(h.disk.dir, "world")
	h.mount(img, h.world, "loop")
	h.errands = newErrands(h.world, 10, 1<<30)
	return h
}

// start starts the program on the disk as it is now.
func (h *house) start() (*process, error) {
	data := filepath.Join(h.live, "data")
	config := filepath.Join(h.world, "messkit.yaml")
	text := fmt.Sprintf("exchange: {listen: '127.0.0.1:0', data: %s}\n", data) + h.agent("pi", data) + h.devices()
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return start(data, h.binary, "run", "--config", config)
}

// serves lets the requests in.
func (h *house) serves(p *process) {
	h.Helper()
	key, err := operatorKey(filepath.Join(h.live, "data"))
	if err != nil || p.url == "" {
		h.Fatalf("it does not start: %v\n%s", err, &p.stderr)
	}
	h.errands.door.Store(newDoor(p.url, key, ""))
}

// lives starts it, cuts the power at any moment, at times before it serves, and
// puts what the disk holds then in its place.
func (h *house) lives() {
	h.Helper()
	var p *process
	var g errgroup.Group
	served := make(chan struct{})
	g.Go(func() (err error) {
		defer close(served)
		p, err = h.start()
		return err
	})
	moment := time.Duration(rand.IntN(600)) * time.Millisecond
	if rand.IntN(4) > 0 {
		<-served
		if p != nil {
			h.serves(p)
		}
	} else {
		moment /= 3
	}
	<-time.After(moment)
	h.errands.door.Store(nil) // what is answered from now on, nobody hears
	h.pen.Lock()
	defer h.pen.Unlock()
	clone, sizes := h.cutAll()
	if err := g.Wait(); err != nil {
		h.Fatal(err)
	}
	h.again(p, sizes)
	h.replace(clone)
}

// FIFREEZE and FITHAW of linux/fs.h: until a file system is thawed, who writes to
// it waits.
const (
	freeze = 0xc0045877
	thaw   = 0xc0045878
)

// cutAll clones the disk while no valve moves, and notes how the valves are.
func (h *house) cutAll() (clone string, sizes map[string]int64) {
	h.Helper()
	world, err := os.Open(h.world)
	if err == nil {
		err = unix.IoctlSetInt(int(world.Fd()), freeze, 0)
	}
	if err != nil {
		h.Fatal(err)
	}
	h.cuts++
	clone = h.disk.cut(h.image, fmt.Sprintf("cut-%d.img", h.cuts))
	sizes = map[string]int64{}
	for v := range h.valves {
		if info, err := os.Stat(string(h.wire(v))); err == nil {
			sizes[string(h.wire(v))] = info.Size()
		}
	}
	if err := errors.Join(unix.IoctlSetInt(int(world.Fd()), thaw, 0), world.Close()); err != nil {
		h.Fatal(err)
	}
	return clone, sizes
}

// again kills what had no power any more, and takes back what it did since.
func (h *house) again(p *process, sizes map[string]int64) {
	h.Helper()
	if err := p.kill(); err != nil {
		h.Fatal(err)
	}
	for v := range h.valves {
		name := string(h.wire(v))
		if err := os.Truncate(name, sizes[name]); err != nil && !errors.Is(err, os.ErrNotExist) {
			h.Fatal(err)
		}
	}
}

// replace has the clone for a disk from now on.
func (h *house) replace(clone string) {
	h.Helper()
	old := h.image
	// Its guard may be there a moment longer.
	if err := errors.Join(unix.Unmount(h.live, unix.MNT_DETACH), os.Remove(old)); err != nil {
		h.Fatal(err)
	}
	h.image, h.live = clone, clone+".mounted"
	h.mount(h.image, h.live, "loop,commit=1,noauto_da_alloc")
}

// disasters cuts the power n times while valves are asked for, has all that was
// asked for end, and judges it.
func disasters(t *testing.T, binary string, n int) *judgement {
	t.Helper()
	h := newHouse(t, binary)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return h.ask(ctx) })
	for range n {
		h.lives()
	}
	p, err := h.start()
	if err != nil {
		t.Fatal(err)
	}
	h.serves(p)
	stop()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(h.live, "data")
	v := h.judge(data)
	if err := p.stop(); err != nil {
		t.Errorf("at its end: %v\n%s", err, &p.stderr)
	}
	v.journal(binary, data)
	for i, problem := range v.problems {
		if i < 10 {
			t.Error(problem)
		}
	}
	return v
}

// Whenever the power is cut, nothing is done twice, nothing that was asked for
// is lost, and what is told is true, by the valves' own logs.
func TestCutInTheAct(t *testing.T) {
	n := wantedCuts(t)
	if !inOwnMounts(t) {
		return
	}
	binary := buildMesskit(t)
	begin, done, all := time.Now(), 0, &judgement{}
	for done < n && !t.Failed() {
		now := min(2*perDisk, n-done)
		t.Run(fmt.Sprintf("disk-%d", done/(2*perDisk)), func(t *testing.T) { all.add(disasters(t, binary, now)) })
		done += now
	}
	took := time.Since(begin)
	t.Logf("%d simulated power cuts in %v, %.1f a second: %s", done, took.Round(time.Second), float64(done)/took.Seconds(), all)
	if all.acts < done/10 {
		t.Error("too little was done to tell")
	}
}
