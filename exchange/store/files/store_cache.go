package files

import (
	"container/list"
	"slices"
	"sync"

	"github.com/messkit/messkit/exchange/thread"
)

// recentBytes is the maximum size of the cache, and recentMost that of one thread in it. Both
// count the size in the log in bytes; the memory use is some times larger.
const (
	recentBytes = 2 << 20
	recentMost  = 128 << 10 // of one thread
)

// threadCache keeps the decoded threads of the last writes and reads, so that a repeated read
// does not access the log.
type threadCache struct {
	mu    sync.Mutex
	refs  map[string]*list.Element // of *cachedThread
	order list.List                // most recent first
	bytes int
}

type cachedThread struct {
	as     state
	thread thread.Thread
	bytes  int
}

// state identifies a state of a thread by its last change and its number of records. Two equal
// states have the same content.
type state struct {
	seq     uint64
	ver     uint64
	records int // 0: the log does not have it
}

// state returns the state of a thread. It is zero if memory does not have it.
func (x *index) state(ref string) state {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	if k == nil {
		return state{}
	}
	return k.state()
}

func (k *threadState) state() state { return state{k.seq, k.Ver, len(k.records)} }

// get returns a thread from the cache, if it has the given state there.
func (r *threadCache) get(ref string, as state) (t thread.Thread, bytes int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.refs[ref]
	if e == nil || as.records == 0 || e.Value.(*cachedThread).as != as {
		return thread.Thread{}, 0, false
	}
	r.order.MoveToFront(e)
	one := e.Value.(*cachedThread)
	return one.thread, one.bytes, true
}

// put adds a thread to the cache, and drops the least recent ones beyond the limit.
func (r *threadCache) put(t thread.Thread, as state, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.refs[t.Ref])
	if as.records == 0 || bytes > recentMost {
		return
	}
	if r.refs == nil {
		r.refs = map[string]*list.Element{}
	}
	t.Messages = slices.Clip(t.Messages) // an append then copies the list
	r.refs[t.Ref] = r.order.PushFront(&cachedThread{as, t, bytes})
	for r.bytes += bytes; r.bytes > recentBytes; {
		r.drop(r.order.Back())
	}
}

// step applies a stored step of so many bytes to a thread in the cache.
func (r *threadCache) step(s thread.Step, was, is state, bytes int) {
	t, before, ok := r.get(s.Envelope.Ref, was)
	if !ok || is.ver != s.Envelope.Ver || is.records != was.records+1 {
		return
	}
	t.Envelope, t.Messages = s.Envelope, append(t.Messages, s.Messages...)
	r.put(t, is, before+bytes)
}

// forget removes a thread from the cache.
func (r *threadCache) forget(ref string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.refs[ref])
}

// drop removes an element. The caller holds r.mu.
func (r *threadCache) drop(e *list.Element) {
	if e == nil {
		return
	}
	one := e.Value.(*cachedThread)
	r.order.Remove(e)
	delete(r.refs, one.thread.Ref)
	r.bytes -= one.bytes
}
