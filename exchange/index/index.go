// Package index finds threads by requester, executor, party, status, capability and time,
// newest change first. It has what the feed of a store gives, and reads no store.
//
// A thread takes about 80 bytes, because most threads of an exchange have ended. Each
// change of a thread takes a new slot at the end, so the order of the slots is the order
// of the changes, and a list of slots needs no sorting. The slot from before is dead, and
// lists skip it. When a quarter of the slots is dead, the index is built anew in the
// background.
package index

import (
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
)

// Index of threads. The zero value is empty.
type Index struct {
	mu    sync.RWMutex
	slots table
	seq   uint64

	rebuilding bool
	late       []change // that came while the index is built anew
	build      sync.WaitGroup
}

// change is what is done to an index.
type change struct {
	seq uint64
	ref string
	env *thread.Envelope // nil removes the thread
}

// Set takes a thread as it stands after its newest change. An envelope that is older than
// the one in the index changes nothing.
func (x *Index) Set(e thread.Envelope) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if at, ok := x.slots.find(e.Ref); ok && x.slots.slots[at].ver() >= e.Ver {
		return
	}
	x.do(change{ref: e.Ref, env: &e})
}

// Remove removes a thread.
func (x *Index) Remove(ref string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.do(change{ref: ref})
}

// do makes a change. x.mu is held.
func (x *Index) do(c change) {
	x.seq++
	c.seq = x.seq
	x.slots.apply(c)
	if x.rebuilding {
		x.late = append(x.late, c)
	} else if x.slots.dead > 4096 && x.slots.dead > len(x.slots.slots)/5 {
		x.rebuilding = true
		size := len(x.slots.slots) // what comes from now on is late
		x.build.Go(func() { x.rebuild(size) })
	}
}

// Knows reports whether the index has a thread as it stands after a step, or later.
func (x *Index) Knows(ref string, ver uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, ok := x.slots.find(ref)
	return ok && x.slots.slots[at].ver() >= ver
}

// Has reports whether there is a thread.
func (x *Index) Has(ref string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.slots.find(ref)
	return ok
}

// Len is how many threads there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots.slots) - x.slots.dead
}

// Last is the request that a requester has made last; "" if there is none.
func (x *Index) Last(requestor string) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.slots.newest(requestor)
}

// Wait waits until the index is not being built anew.
func (x *Index) Wait() { x.build.Wait() }

// rebuildAtOnce is how many slots are copied while nobody can change the index.
const rebuildAtOnce = 4096

// rebuild builds the index anew from its first slots, without what is dead. Others go on
// meanwhile.
func (x *Index) rebuild(size int) {
	var fresh table
	fresh.grow(size - size/5)
	for from := 0; from < size; from += rebuildAtOnce {
		x.mu.RLock()
		fresh.copy(&x.slots, from, min(from+rebuildAtOnce, size))
		x.mu.RUnlock()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.late {
		fresh.apply(c)
	}
	x.slots, x.late, x.rebuilding = fresh, nil, false
}

// nanos is a point in time as nanoseconds; a time that these cannot have is the nearest.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero() || t.Year() < 1700:
		return -1 << 63
	case t.Year() > 2200:
		return 1<<63 - 1
	}
	return t.UnixNano()
}
