// Package cache keeps the threads that a store has decoded last. It knows no log and no folder.
package cache

import (
	"container/list"
	"slices"
	"sync"

	"github.com/messkit/messkit/exchange/thread"
)

// maxBytes is the maximum size of the cache, and maxThread that of one thread in it. Both
// count the size in the log in bytes; the memory use is some times larger.
const (
	maxBytes  = 2 << 20
	maxThread = 128 << 10 // of one thread
)

// Threads keeps the decoded threads of the last writes and reads, so that a repeated read
// does not access the log. Its zero value is ready for use, and safe for concurrent use.
type Threads struct {
	mu    sync.Mutex
	refs  map[string]*list.Element // of *entry
	order list.List                // most recent first
	bytes int
}

type entry struct {
	as     State
	thread thread.Thread
	bytes  int
}

// State identifies a state of a thread by its last change and its number of records. Two equal
// states have the same content.
type State struct {
	Seq     uint64
	Ver     uint64
	Records int // 0: the log does not have it
}

// Get returns a thread from the cache, if it has the given state there.
func (r *Threads) Get(ref string, as State) (t thread.Thread, bytes int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.refs[ref]
	if e == nil || as.Records == 0 || e.Value.(*entry).as != as {
		return thread.Thread{}, 0, false
	}
	r.order.MoveToFront(e)
	one := e.Value.(*entry)
	return one.thread, one.bytes, true
}

// Put adds a thread to the cache, and drops the least recent ones beyond the limit.
func (r *Threads) Put(t thread.Thread, as State, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.refs[t.Ref])
	if as.Records == 0 || bytes > maxThread {
		return
	}
	if r.refs == nil {
		r.refs = map[string]*list.Element{}
	}
	t.Messages = slices.Clip(t.Messages) // an append then copies the list
	r.refs[t.Ref] = r.order.PushFront(&entry{as, t, bytes})
	for r.bytes += bytes; r.bytes > maxBytes; {
		r.drop(r.order.Back())
	}
}

// Step applies a stored step of so many bytes to a thread in the cache.
func (r *Threads) Step(s thread.Step, was, is State, bytes int) {
	t, before, ok := r.Get(s.Envelope.Ref, was)
	if !ok || is.Ver != s.Envelope.Ver || is.Records != was.Records+1 {
		return
	}
	t.Envelope, t.Messages = s.Envelope, append(t.Messages, s.Messages...)
	r.Put(t, is, before+bytes)
}

// Forget removes a thread from the cache.
func (r *Threads) Forget(ref string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.refs[ref])
}

// drop removes an element. The caller holds r.mu.
func (r *Threads) drop(e *list.Element) {
	if e == nil {
		return
	}
	one := e.Value.(*entry)
	r.order.Remove(e)
	delete(r.refs, one.thread.Ref)
	r.bytes -= one.bytes
}
