// Package gcpace sets the pace of the garbage collector. It collects often in an idle
// program and returns free memory, so that the program stays small. It collects seldom in a
// busy program, so that answers do not wait.
package gcpace

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Pace has the settings of the collector. Percents are those of debug.SetGCPercent.
type Pace struct {
	Idle int // percent while little happens
	Busy int // largest percent while much happens
	More int // largest growth of the heap above the live bytes while busy, in bytes

	Often     time.Duration // a second collection within this time means that much happens
	IdleAfter time.Duration // time without a collection after which the program counts as idle
}

// DefaultPace is for a computer with this memory, in bytes. The heap of a busy program may grow
// by an eighth of the memory, and by 1 GiB at most: by 64 MiB of 512. The more it may grow, the
// smaller is the part of the program's time that collections take. 400 % keeps the slowest 1 % of
// requests over MQTT below 5 ms on two processors; 200 % does not (`make bench-mqtt`).
func DefaultPace(memory int64) Pace {
	more := min(max(memory/8, 16<<20), 1<<30)
	return Pace{Idle: 50, Busy: 400, More: int(more), Often: time.Second, IdleAfter: 5 * time.Second}
}

// Keep sets the percent by the pace of collections, until the caller calls stop, which sets Idle.
// It costs nothing between two collections: a cleanup function reports each collection.
func (p Pace) Keep() (stop func()) {
	k := &keeper{pace: p, is: p.Idle}
	debug.SetGCPercent(p.Idle)
	k.idleTimer = time.AfterFunc(p.IdleAfter, k.collectIdle)
	k.await()
	return func() {
		k.set(p.Idle)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.over = true
		k.idleTimer.Stop()
	}
}

// keeper keeps a pace.
type keeper struct {
	pace      Pace
	idleTimer *time.Timer

	mu   sync.Mutex
	is   int // percent
	last time.Time
	own  bool // the next collection is that of lull
	over bool
}

// await arranges that the next collection reports itself, by the cleanup of an unused object.
func (k *keeper) await() {
	runtime.AddCleanup(new([64]byte), (*keeper).collected, k)
}

func (k *keeper) collected() {
	now := time.Now()
	k.mu.Lock()
	often := !k.own && !k.last.IsZero() && now.Sub(k.last) < k.pace.Often
	k.last, k.own = now, false
	over := k.over
	if often && !over {
		k.idleTimer.Reset(k.pace.IdleAfter)
	}
	k.mu.Unlock()
	switch {
	case over:
		return
	case often:
		k.set(k.pace.busy(live()))
	}
	k.await()
}

// collectIdle collects once more, and returns free memory to the system. Until then the free memory
// may be twice the live memory.
func (k *keeper) collectIdle() {
	k.set(k.pace.Idle)
	k.mu.Lock()
	over := k.over
	k.own = !over
	k.mu.Unlock()
	if !over {
		debug.FreeOSMemory()
	}
}

// set changes the percent. It does nothing for the present percent, because a change stops the
// world for a moment.
func (k *keeper) set(percent int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || percent == k.is {
		return
	}
	k.is = percent
	debug.SetGCPercent(percent)
}

// step rounds percents, so that they do not change with every collection.
const step = 25

// busy returns the percent for a heap with so many live bytes.
func (p Pace) busy(live uint64) int {
	most := uint64(p.More) * 100 / max(live, 1)
	if most >= uint64(p.Busy) {
		return p.Busy
	}
	return max(p.Idle, int(most)/step*step)
}

// live returns the number of bytes that the last collection left.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
