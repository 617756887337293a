package exchange

import (
	"maps"
	"slices"

	"github.com/messkit/messkit/mess"
)

// openIndex finds open threads without a walk over all of them. Exchange.mu guards it.
type openIndex struct {
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
	liveSet map[string]*live // by ref
)

func newOpenIndex() openIndex {
	return openIndex{held: refs{}, pending: refs{}, named: refs{}, suggested: refs{}, count: map[mess.Code]int{}, offered: map[string]*queue{}}
}

func (r refs) add(key string, l *live) {
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
func (o *openIndex) offer(id string, l *live) {
	if o.offered[id] == nil {
		o.offered[id] = &queue{}
	}
	o.offered[id].add(l)
}

// withdraw notes that it has none any more.
func (o *openIndex) withdraw(id string, l *live) {
	if o.offered[id].drop(l); o.offered[id].len() == 0 {
		delete(o.offered, id)
	}
}

// waits notes whether nobody has an offer of a thread that waits.
func (o *openIndex) waits(l *live) {
	if l.env.Status == mess.Pending && len(l.offered) == 0 {
		o.unoffered.add(l)
	} else {
		o.unoffered.drop(l)
	}
}

// inOrder returns the threads of a set by their refs.
func (s liveSet) inOrder() []*live {
	var list []*live
	for _, ref := range slices.Sorted(maps.Keys(s)) {
		list = append(list, s[ref])
	}
	return list
}

// turns moves a thread from the places of its earlier envelope to those of its new one.
func (o *openIndex) turns(l *live, was Envelope) {
	if was.Ref != "" {
		o.take(l, was, -1)
	}
	if !l.env.Status.Terminal() {
		o.take(l, l.env, 1)
	}
}

// take adds a thread at the places of an envelope, or removes it there.
func (o *openIndex) take(l *live, e Envelope, by int) {
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
