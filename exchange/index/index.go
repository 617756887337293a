// Package index finds threads by requester, executor, party, status, capability, device and time, the
// newest change first. It has what the feed of a store gives, and does not read the store.
//
// Most threads of an exchange have ended, so a thread takes little memory: about 80 bytes, and four
// for each capability that it requires and for each of its devices. Each change of a thread takes a new slot at the end. So the
// slots have the order of the changes, and a list of slots needs no sorting. The earlier slot of the
// thread is dead, and lists skip it. When a quarter of the slots is dead, a goroutine builds the
// index anew.
package index

import (
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Index is an index of threads. The zero value is empty. It is safe for concurrent use.
type Index struct {
	mu    sync.RWMutex
	slots table
	seq   uint64

	rebuilding     bool
	rebuildChanges []change // changes during a rebuild
	build          sync.WaitGroup
}

// change is one change of an index.
type change struct {
	seq uint64
	ref string
	env *thread.Envelope // nil removes the thread

	devices  []string                   // of the thread
	subjects map[string]thread.Subjects // if it is not nil: of threads that are in the index, by ref
}

// Set takes the envelope of a thread after a change. It ignores an envelope that is older than the
// one in the index.
func (x *Index) Set(e thread.Envelope) { x.SetOutline(e, e.Devices()) }

// SetOutline is like Set, for an envelope that does not say which devices the thread has.
func (x *Index) SetOutline(e thread.Envelope, devices []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if at, ok := x.slots.find(e.Ref); ok && x.slots.slots[at].ver() >= e.Ver {
		return
	}
	x.do(change{ref: e.Ref, env: &e, devices: devices})
}

// Remove removes a thread.
func (x *Index) Remove(ref string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.do(change{ref: ref})
}

// AddSubjects adds required capabilities and devices to threads, by ref. The threads stay where they
// are in lists. It ignores unknown threads.
func (x *Index) AddSubjects(of map[string]thread.Subjects) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.do(change{subjects: of})
}

// do makes a change. The caller holds x.mu.
func (x *Index) do(c change) {
	x.seq++
	c.seq = x.seq
	x.slots.apply(c)
	if x.rebuilding {
		x.rebuildChanges = append(x.rebuildChanges, c)
	} else if x.slots.dead > 4096 && x.slots.dead > len(x.slots.slots)/5 {
		x.rebuilding = true
		size := len(x.slots.slots) // later changes are late
		x.build.Go(func() { x.rebuild(size) })
	}
}

// Knows reports whether the index has a thread with this version or a later one.
func (x *Index) Knows(ref string, ver uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, ok := x.slots.find(ref)
	return ok && x.slots.slots[at].ver() >= ver
}

// Version returns the version of a thread, or 0 if the index does not have the thread.
func (x *Index) Version(ref string) uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, ok := x.slots.find(ref)
	if !ok {
		return 0
	}
	return x.slots.slots[at].ver()
}

// Status returns the status of a thread, or "" if the index does not have the thread.
func (x *Index) Status(ref string) mess.Code {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, ok := x.slots.find(ref)
	if !ok {
		return ""
	}
	return x.slots.codes[x.slots.slots[at].status()]
}

// Len returns the number of threads.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots.slots) - x.slots.dead
}

// Last returns the ref of the newest request of a requester, or "".
func (x *Index) Last(requester string) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.slots.newest(requester)
}

// Wait waits for the end of a rebuild.
func (x *Index) Wait() { x.build.Wait() }

// rebuildAtOnce is the number of slots that a rebuild copies under one lock.
const rebuildAtOnce = 4096

// rebuild builds the index anew without its dead slots. size is the number of slots at the start.
// Other goroutines use the index meanwhile.
func (x *Index) rebuild(size int) {
	var fresh table
	fresh.grow(size - size/5)
	moved := make([]uint32, size) // the new slots plus 1, by the old ones
	for from := 0; from < size; from += rebuildAtOnce {
		x.mu.RLock()
		fresh.copy(&x.slots, from, min(from+rebuildAtOnce, size), moved)
		x.mu.RUnlock()
	}
	for _, copyOne := range x.listCopies(&fresh, moved) {
		x.mu.RLock()
		copyOne()
		x.mu.RUnlock()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.rebuildChanges {
		fresh.apply(c)
	}
	x.slots, x.rebuildChanges, x.rebuilding = fresh, nil, false
}

// listCopies returns functions that each copy one list of former holders, of a capability or of a
// device.
func (x *Index) listCopies(to *table, moved []uint32) (all []func()) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	from := &x.slots
	for was, id := range from.names {
		all = append(all, func() {
			if list := renumbered(from.held[was], moved); list != nil {
				is := to.name(id)
				to.held[is] = list
			}
		})
	}
	for _, lists := range []struct{ from, to *map[string][]uint32 }{{&from.waiting, &to.waiting}, {&from.requires, &to.requires}, {&from.devices, &to.devices}} {
		for id := range *lists.from {
			all = append(all, func() {
				if list := renumbered((*lists.from)[id], moved); list != nil {
					put(lists.to, id, list)
				}
			})
		}
	}
	return all
}

// nanos returns a time as nanoseconds, or the nearest possible value.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero() || t.Year() < 1700:
		return -1 << 63
	case t.Year() > 2200:
		return 1<<63 - 1
	}
	return t.UnixNano()
}
