package roombaoi_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// robot simulates a robot at the other end of a pseudo-terminal, from the specification of
// the interface. It records its commands and whether it moves. Each sent frame advances its
// wheels and its task.
type robot struct {
	mu      sync.Mutex
	task    string // "", clean, spot, dock
	left    int    // frames until the end of the task
	frames  int    // frames of a task
	docked  bool
	wheels  uint16
	drop    bool // a wheel hangs in the air
	over    byte
	charge  uint16
	mode    byte
	acts    []string
	asleep  int  // number of commands that it does not receive
	noisy   bool // sends broken frames in between
	deaf    bool // accepts commands and does not move
	strands bool // a task ends away from the dock
}

func newRobot() *robot { return &robot{frames: 6, docked: true, charge: 2000} }

func (r *robot) set(f func(*robot)) { r.mu.Lock(); defer r.mu.Unlock(); f(r) }

func (r *robot) log() []string { r.mu.Lock(); defer r.mu.Unlock(); return slices.Clone(r.acts) }

func (r *robot) moves() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.task != "" }

// receive processes received bytes; rest is an incomplete command.
func (r *robot) receive(data []byte) (answer, rest []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(data) > 0 {
		n := 1
		switch data[0] {
		case 148:
			if len(data) < 2 || len(data) < 2+int(data[1]) {
				return answer, data
			}
			n = 2 + int(data[1])
		case 150:
			if n = 2; len(data) < n {
				return answer, data
			}
		}
		one := data[:n]
		data = data[n:]
		if r.asleep > 0 {
			r.asleep--
			continue
		}
		answer = append(answer, r.take(one)...)
	}
	return answer, nil
}

func (r *robot) take(c []byte) []byte {
	begin := func(task string) {
		r.acts = append(r.acts, task)
		switch {
		case r.deaf:
		case r.task != "": // the button pauses the task
			r.task = ""
		default:
			r.task, r.left, r.docked = task, r.frames, false
		}
	}
	switch c[0] {
	case 128:
		r.mode = 1
	case 131:
		r.acts = append(r.acts, "safe")
		if !r.deaf {
			r.task, r.mode = "", 2
		}
	case 134:
		begin("spot")
	case 135:
		begin("clean")
	case 143:
		begin("dock")
	case 148:
		r.step()
		frame := r.frame(c[2:])
		if r.noisy {
			broken := slices.Clone(frame)
			broken[5] ^= 0xff
			return slices.Concat([]byte("bl-start\r\n\x13"), broken, frame[:7], frame)
		}
		return frame
	}
	return nil
}

func (r *robot) step() {
	if r.task == "" {
		return
	}
	r.wheels += 30
	if r.left--; r.left <= 0 {
		r.docked = r.task != "spot" && !r.strands
		r.task = ""
	}
}

func (r *robot) frame(ids []byte) []byte {
	var p []byte
	for _, id := range ids {
		p = append(p, id)
		bit := func(so bool, b byte) byte {
			if so {
				return b
			}
			return 0
		}
		switch id {
		case 7:
			p = append(p, bit(r.drop, 0b1000))
		case 9, 10, 11, 12:
			p = append(p, 0)
		case 14:
			p = append(p, r.over)
		case 21:
			p = append(p, bit(r.docked, 2))
		case 25:
			p = binary.BigEndian.AppendUint16(p, r.charge)
		case 26:
			p = binary.BigEndian.AppendUint16(p, 2500)
		case 34:
			p = append(p, bit(r.docked, 2))
		case 35:
			p = append(p, r.mode)
		case 43, 44:
			p = binary.BigEndian.AppendUint16(p, r.wheels)
		default:
			panic(fmt.Sprint("packet ", id))
		}
	}
	f := append([]byte{19, byte(len(p))}, p...)
	sum := byte(0)
	for _, b := range f {
		sum += b
	}
	return append(f, -sum)
}

// bench is a serial cable whose robot a test can replace.
type bench struct {
	port string
	mu   sync.Mutex
	now  *robot
}

func (b *bench) robot() *robot { b.mu.Lock(); defer b.mu.Unlock(); return b.now }

func (b *bench) renew() *robot {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = newRobot()
	return b.now
}

func newBench(t *testing.T) *bench {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{port: "/dev/pts/" + strconv.Itoa(n), now: newRobot()}
	keeper, err := os.OpenFile(b.port, os.O_RDWR|unix.O_NOCTTY, 0) // without an open client the other end cannot be read
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var rest []byte
		buf := make([]byte, 512)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			var answer []byte
			answer, rest = b.robot().receive(append(rest, buf[:n]...))
			if _, err := master.Write(answer); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = master.Close()
		<-done
		_ = keeper.Close()
	})
	return b
}
