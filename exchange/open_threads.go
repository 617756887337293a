package exchange

import (
	"maps"
	"slices"
	"sync"

	"github.com/messkit/messkit/mess"
)

// openThreads are the threads without a terminal status, and what is known of them only while
// they are open. It finds them without a walk over all.
type openThreads struct {
	mu      sync.Mutex // guards all of this, and the fields of openThread, but for openThread.step
	byRef   map[string]*openThread
	coming  map[string]*coming         // threads that are being stored or read
	waiting map[string]map[string]bool // thread to the open threads that depend on it
	rooms   map[string]*room           // thread to what was uploaded for it
	sated   map[string]bool            // executors that had enough offers to get more
	round   uint64                     // of searches that find a thread once

	held      refs              // by who holds them
	pending   refs              // by each capability that they require; by "" if by none
	named     refs              // by the ids that their requesters have for them
	suggested refs              // by the ids of suggestions that wait for an answer
	count     map[mess.Code]int // by status
	offered   map[string]*queue // by the executors that have an offer of them
	unoffered queue             // that wait, and nobody has an offer of
}

type (
	refs    map[string]liveSet
	liveSet map[string]*openThread // by ref
)

func newOpenThreads() openThreads {
	return openThreads{
		byRef: map[string]*openThread{}, coming: map[string]*coming{}, waiting: map[string]map[string]bool{}, rooms: map[string]*room{}, sated: map[string]bool{},
		held: refs{}, pending: refs{}, named: refs{}, suggested: refs{}, count: map[mess.Code]int{}, offered: map[string]*queue{},
	}
}

// find returns an open thread, or nil.
func (o *openThreads) find(ref string) *openThread {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byRef[ref]
}

func (r refs) add(key string, l *openThread) {
	if r[key] == nil {
		r[key] = liveSet{}
	}
	r[key][l.env.Ref] = l
}

func (r refs) drop(key, ref string) {
	if delete(r[key], ref); len(r[key]) == 0 {
		delete(r, key)
	}
}

// offer notes that an executor has an offer of a thread.
func (o *openThreads) offer(id string, l *openThread) {
	if o.offered[id] == nil {
		o.offered[id] = &queue{}
	}
	o.offered[id].add(l)
}

// withdraw notes that it has none any more.
func (o *openThreads) withdraw(id string, l *openThread) {
	if o.offered[id].drop(l); o.offered[id].len() == 0 {
		delete(o.offered, id)
	}
}

// waits notes whether nobody has an offer of a thread that waits.
func (o *openThreads) waits(l *openThread) {
	if l.env.Status == mess.Pending && len(l.offered) == 0 {
		o.unoffered.add(l)
	} else {
		o.unoffered.drop(l)
	}
}

// inOrder returns the threads of a set by their refs.
func (s liveSet) inOrder() []*openThread {
	var list []*openThread
	for _, ref := range slices.Sorted(maps.Keys(s)) {
		list = append(list, s[ref])
	}
	return list
}

// turns moves a thread from the places of its earlier envelope to those of its new one.
func (o *openThreads) turns(l *openThread, was Envelope) {
	if was.Ref != "" {
		o.take(l, was, -1)
	}
	if !l.env.Status.Terminal() {
		o.take(l, l.env, 1)
	}
}

// take adds a thread at the places of an envelope, or removes it there.
func (o *openThreads) take(l *openThread, e Envelope, by int) {
	change := func(r refs, key string) {
		if by > 0 {
			r.add(key, l)
		} else {
			r.drop(key, e.Ref)
		}
	}
	if o.count[e.Status] += by; o.count[e.Status] == 0 {
		delete(o.count, e.Status)
	}
	if e.ClientID != "" {
		change(o.named, e.ClientID)
	}
	for _, p := range e.Proposals {
		change(o.suggested, p.ID)
	}
	if id := e.Holder(); id != "" {
		change(o.held, id)
	}
	if e.Status != mess.Pending {
		return
	}
	if len(e.Needs.Requires) == 0 {
		change(o.pending, "")
	}
	for _, c := range e.Needs.Requires {
		change(o.pending, c.ID)
	}
}
