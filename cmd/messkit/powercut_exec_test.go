package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/test/disk"
)

// cutHarness is an executor and its exchange on a disk with simulated power cuts. The valves' logs are
// on another disk.
type cutHarness struct {
	*testing.T
	*disk.Disk
	*valveRequests
	binary string
	world  string // folder of the valves' logs, on another disk
	cuts   int
	stops  stopRecord
}

func newCutHarness(t *testing.T, binary string) *cutHarness {
	t.Helper()
	world := t.TempDir()
	return &cutHarness{T: t, Disk: disk.New(t, 1<<30), valveRequests: newValveRequests(world, 10, 1<<30), binary: binary, world: world}
}

// start starts the program on the current state of the disk.
func (h *cutHarness) start() (*process, error) {
	data := filepath.Join(h.Live, "data")
	config := filepath.Join(h.world, "messkit.yaml")
	text := fmt.Sprintf("exchange: {listen: '127.0.0.1:0', data: %s, confirm: script}\n", data) + h.agentYAML("pi", data) + h.devicesYAML()
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return start(data, h.binary, "run", "--config", config)
}

// enableRequests enables the requests.
func (h *cutHarness) enableRequests(p *process) {
	h.Helper()
	key, err := operatorKey(filepath.Join(h.Live, "data"))
	if err != nil || p.url == "" {
		h.Fatalf("messkit does not start: %v\n%s", err, &p.stderr)
	}
	h.valveRequests.client.Store(newAPIClient(p.url, key, ""))
}

// runUntilCut starts the program and cuts the power at a random moment: sometimes before it serves,
// sometimes just after a valve has moved. Then it replaces the disk with the clone.
func (h *cutHarness) runUntilCut() {
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
	held := h.stops.holds
	if rand.IntN(4) > 0 {
		<-served
		if p != nil {
			h.enableRequests(p)
		}
	} else {
		moment /= 3
	}
	if h.valveRequests.client.Load() != nil && rand.IntN(2) == 0 {
		h.waitForAct(time.Second)
		moment = time.Duration(rand.IntN(2)*rand.IntN(3000)) * time.Microsecond
	}
	if held && p != nil && !p.running() {
		h.Fatal("messkit does not start with a latched stop")
	}
	if held && h.valveRequests.client.Load() != nil {
		h.checkStaysStopped()
	} else if !held && h.valveRequests.client.Load() != nil && rand.IntN(5) == 0 {
		moment = time.Duration(rand.IntN(2)*rand.IntN(60)) * time.Millisecond
		h.startStopCommand()
	}
	if moment > 0 {
		<-time.After(moment)
	}
	h.stops.ordered = h.stops.ordered || h.stops.answered.Load()
	h.valveRequests.client.Store(nil) // no client receives the responses from now on
	h.pen.Lock()
	defer h.pen.Unlock()
	clone, sizes := h.cloneDisk()
	if err := g.Wait(); err != nil {
		h.Fatal(err)
	}
	h.revertActs(p, sizes)
	h.Replace(clone)
	h.checkLatch()
}

// cloneDisk clones the disk, and returns the sizes of the valves' logs. If a valve moves during
// that, its act could be before or after the cut, and cloneDisk repeats both.
func (h *cutHarness) cloneDisk() (clone string, sizes []int64) {
	h.Helper()
	h.cuts++
	for {
		sizes = h.logSizes()
		clone = h.Clone(h.Image, fmt.Sprintf("cut-%d.img", h.cuts))
		if slices.Equal(sizes, h.logSizes()) {
			return clone, sizes
		}
	}
}

// logSizes returns the sizes of the valves' logs in bytes.
func (h *cutHarness) logSizes() []int64 {
	h.Helper()
	list := make([]int64, h.valves)
	for v := range list {
		info, err := os.Stat(string(h.outputFile(v)))
		if err == nil {
			list[v] = info.Size()
		} else if !errors.Is(err, os.ErrNotExist) {
			h.Fatal(err)
		}
	}
	return list
}

// revertActs kills the program and removes its acts since the cut from the valves' logs.
func (h *cutHarness) revertActs(p *process, sizes []int64) {
	h.Helper()
	if err := p.kill(); err != nil {
		h.Fatal(err)
	}
	for v, size := range sizes {
		if err := os.Truncate(string(h.outputFile(v)), size); err != nil && !errors.Is(err, os.ErrNotExist) {
			h.Fatal(err)
		}
	}
}

// cutPowerRepeatedly cuts the power n times during requests to the valves, waits until all requests are
// terminal, and judges them.
func cutPowerRepeatedly(t *testing.T, binary string, n int) *verdict {
	t.Helper()
	h := newCutHarness(t, binary)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return h.sendAll(ctx) })
	for range n {
		h.runUntilCut()
	}
	h.resetStop()
	p, err := h.start()
	if err != nil {
		t.Fatal(err)
	}
	h.enableRequests(p)
	stop()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(h.Live, "data")
	v := h.judge(data)
	if err := p.stop(); err != nil {
		t.Errorf("at its end: %v\n%s", err, &p.stderr)
	}
	v.checkJournal(binary, data)
	return v
}

// After power cuts at any moment, the valves' logs show no duplicate execution and no lost
// request, and they agree with all reports.
func TestPowerCutDuringAct(t *testing.T) {
	n := cutCount(t)
	if !disk.HasOwnMounts(t) {
		return
	}
	binary := buildMesskit(t)
	begin, done, all := time.Now(), 0, &verdict{}
	for done < n && !t.Failed() {
		now := min(2*perDisk, n-done)
		t.Run(fmt.Sprintf("disk-%d", done/(2*perDisk)), func(t *testing.T) {
			v := cutPowerRepeatedly(t, binary, now)
			v.report(t)
			all.add(v)
		})
		done += now
	}
	took := time.Since(begin)
	t.Logf("%d simulated power cuts in %v, %.1f a second: %s", done, took.Round(time.Second), float64(done)/took.Seconds(), all)
	if all.acts < done/10 {
		t.Error("too few acts for a result")
	}
}

// maxPowerCuts is the maximum number of cuts until the judge must detect a fault.
const maxPowerCuts = 200

// The judge detects the errors of an executor without one of its safeguards.
func TestPowerCutDuringActWithoutSafeguard(t *testing.T) {
	cutCount(t)
	if !disk.HasOwnMounts(t) {
		return
	}
	for _, fault := range []struct {
		name, file string
		replace    []string // pairs of a text and its replacement
		seen       func(*verdict) int
	}{
		{
			"what was begun is done again without a look", "agent/task/recovery.go",
			[]string{"harmless := m.Plan.Repeatable()", "harmless := true", "\tdone, how := true, []string(nil)\n", "\tdone, how := false, []string(nil)\n"},
			func(v *verdict) int { return v.doubled },
		},
		{
			"no intent is written", "agent/task/execute.go",
			[]string{"err := t.Journal.Intent(ctx, i, notes...)", "err := error(nil); _, _ = i, notes"},
			func(v *verdict) int { return v.doubled + v.dishonest }, // returned and executed again
		},
	} {
		t.Run(fault.name, func(t *testing.T) {
			binary := buildMesskit(t, "-overlay", overlayWithReplacements(t, fault.file, fault.replace...))
			for cuts := 0; cuts < maxPowerCuts; cuts += perDisk {
				if v := cutPowerRepeatedly(t, binary, perDisk); fault.seen(v) > 0 {
					t.Logf("seen after %d cuts: %s", cuts+perDisk, v.problems[0])
					return
				}
			}
			t.Errorf("%d cuts, and nothing was noticed", maxPowerCuts)
		})
	}
}

// overlayWithReplacements returns an overlay for go build that replaces parts of a file.
func overlayWithReplacements(t *testing.T, file string, pairs ...string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	for i := 0; i < len(pairs); i += 2 {
		if find := []byte(pairs[i]); err != nil || bytes.Count(text, find) != 1 {
			t.Fatalf("%s: %v; must be there once: %s", file, err, find)
		}
		text = bytes.Replace(text, []byte(pairs[i]), []byte(pairs[i+1]), 1)
	}
	return overlayOf(t, file, text)
}
