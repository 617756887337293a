package files

import (
	"container/list"
	"slices"
	"sync"

	"github.com/messkit/messkit/exchange/thread"
)

// What is kept of the threads that were made or read last, by what they take in
// the log, in bytes; in memory it is some times as much.
const (
	recentBytes = 2 << 20
	recentMost  = 128 << 10 // of one thread
)

// threadCache keeps the threads that were made or read last as they are read, so that
// who asks for one again and again, or for a new one, does not have the log read.
type threadCache struct {
	mu    sync.Mutex
	refs  map[string]*list.Element // of *remembered
	order list.List                // the last one first
	bytes int
}

type cachedThread struct {
	as     state
	thread thread.Thread
	bytes  int
}

// state tells whether a thread is as it was: which change was its last, and of
// how many records it is.
type state struct {
	seq     uint64
	ver     uint64
	records int // 0: the log does not have it
}

// state is how a thread stands.
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

// get returns a thread of the log, if it is remembered and as it was.
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

// put remembers a thread as it was read or made, and forgets what is too much.
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
	t.Messages = slices.Clip(t.Messages) // who appends has a list of their own
	r.refs[t.Ref] = r.order.PushFront(&cachedThread{as, t, bytes})
	for r.bytes += bytes; r.bytes > recentBytes; {
		r.drop(r.order.Back())
	}
}

// step has what is remembered follow a step that has been stored, with so many
// bytes.
func (r *threadCache) step(s thread.Step, was, is state, bytes int) {
	t, before, ok := r.get(s.Envelope.Ref, was)
	if !ok || is.ver != s.Envelope.Ver || is.records != was.records+1 {
		return
	}
	t.Envelope, t.Messages = s.Envelope, append(t.Messages, s.Messages...)
	r.put(t, is, before+bytes)
}

// forget lets go of a thread.
func (r *threadCache) forget(ref string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.refs[ref])
}

// drop is for those who hold r.mu.
func (r *threadCache) drop(e *list.Element) {
	if e == nil {
		return
	}
	one := e.Value.(*cachedThread)
	r.order.Remove(e)
	delete(r.refs, one.thread.Ref)
	r.bytes -= one.bytes
}
