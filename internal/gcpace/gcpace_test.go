package gcpace_test

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/gcpace"
)

// While the program discards much memory, collections become rarer up to the bound. Afterwards
// they become more frequent again.
func TestPaceFollowsWork(t *testing.T) {
	keep := make([]byte, 16<<20) // lives all the time
	for _, c := range []struct {
		name string
		more int
		busy func(percent uint64) bool
	}{
		{"as often as it may", 1 << 30, func(p uint64) bool { return p == 300 }},
		{"bounded in bytes", 24 << 20, func(p uint64) bool { return p > 50 && p <= 150 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := gcpace.Pace{Idle: 50, Busy: 300, More: c.more, Often: time.Minute, IdleAfter: 100 * time.Millisecond}
			stop := p.Keep()
			defer stop()
			until(t, c.busy, func() { waste = make([]byte, 1<<20) })
			until(t, func(p uint64) bool { return p == 50 }, func() { <-time.After(time.Millisecond) })
			keep[0]++
		})
	}
}

// A small computer keeps its memory for others; a large one saves collections.
func TestGrowthFollowsMemory(t *testing.T) {
	for memory, more := range map[int64]int{64 << 20: 16 << 20, 512 << 20: 64 << 20, 4 << 30: 512 << 20, 64 << 30: 1 << 30} {
		if got := gcpace.DefaultPace(memory).More; got != more {
			t.Errorf("with %d bytes of memory the heap may grow by %d, want %d", memory, got, more)
		}
	}
}

// In a lull the program returns free memory to the system.
func TestLullReturnsMemory(t *testing.T) {
	kept := make([][]byte, 64)
	for i := range kept {
		kept[i] = make([]byte, 1<<20)
	}
	full := held()
	runtime.KeepAlive(kept)
	stop := gcpace.Pace{Idle: 50, Busy: 300, More: 1 << 30, Often: time.Millisecond, IdleAfter: 10 * time.Millisecond}.Keep()
	defer stop()
	for end := time.Now().Add(time.Minute); held() > full-48<<20; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are held, and were %d", held(), full)
		}
	}
}

// held returns the memory that the program has from the system, without the returned part.
func held() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// After stop, the percent stays.
func TestStopKeepsPercent(t *testing.T) {
	stop := gcpace.Pace{Idle: 60, Busy: 300, More: 1 << 30, Often: time.Minute, IdleAfter: time.Minute}.Keep()
	stop()
	stop()
	for range 200 {
		waste = make([]byte, 1<<20)
	}
	if got := percent(); got != 60 {
		t.Errorf("%d %%", got)
	}
}

var waste []byte

func until(t *testing.T, so func(percent uint64) bool, do func()) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(percent()); do() {
		if time.Now().After(end) {
			t.Fatalf("the percentage stays at %d %%", percent())
		}
	}
}

func percent() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
