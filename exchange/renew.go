package exchange

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// fewThreads is how many threads renew works on before it lets others have x.open.mu.
const fewThreads = 16

// renew updates the offers of the threads that changes of executors concern, the first in
// order first. It lets others have x.open.mu in between.
func (x *Exchange) renew() {
	c := x.registry.TakeChanges()
	if c.IsEmpty() {
		return
	}
	x.open.mu.Lock()
	list := x.concerned(c)
	x.open.mu.Unlock()
	x.renewAll(list, c)
}

func (x *Exchange) renewAll(list []*openThread, c registry.Changes) {
	slices.SortFunc(list, func(a, b *openThread) int { return a.at.compare(b.at) })
	for few := range slices.Chunk(list, fewThreads) {
		x.renewFew(few, c)
	}
}

func (x *Exchange) renewFew(few []*openThread, c registry.Changes) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	now := x.now()
	for _, l := range few {
		if l.env.Status == mess.Pending && x.renewOne(l, c, now) {
			x.reoffer(l, now)
			x.wake(l, x.dueTime(l))
		}
	}
}

// concerned returns the threads whose offers may change. The caller holds x.open.mu.
func (x *Exchange) concerned(c registry.Changes) (list []*openThread) {
	x.open.round++
	add := func(l *openThread) {
		if l.round != x.open.round {
			l.round = x.open.round
			list = append(list, l)
		}
	}
	for _, set := range x.open.pending {
		if !c.All && !c.Places {
			break
		}
		for _, l := range set {
			if a := l.env.Needs.Location; c.All || a != nil && a.Name != "" {
				add(l)
			}
		}
	}
	table := x.registry.Snapshot().Table
	for id := range c.Executors {
		for l := range x.open.offered[id].all() {
			add(l)
		}
		e := table.Executor(id)
		if e == nil || c.All {
			continue
		}
		for _, l := range x.open.pending[""] {
			add(l)
		}
		for _, one := range e.Capabilities {
			for _, l := range x.open.pending[one.ID] {
				add(l)
			}
		}
	}
	return list
}

// renewOne reports whether routing must choose again for a thread. A thread that all who
// are there have an offer of needs no new choice for one more. The caller holds x.open.mu.
func (x *Exchange) renewOne(l *openThread, c registry.Changes, now time.Time) bool {
	if c.All || c.Places || !(l.choice.Full || l.choice.Wide) {
		return true
	}
	w := x.world(now)
	r := w.request(&l.env)
	rank := r.Rank()
	for id := range c.Executors {
		e := w.s.Table.Executor(id)
		if _, has := slices.BinarySearch(l.offered, id); has {
			return true
		}
		if e == nil {
			continue
		}
		if at := rank(e); at < l.choice.Last || at > l.choice.Last && l.choice.Wide && !l.choice.MoreRanks {
			return true
		}
		if l.choice.Wide {
			w.join(l, e, r)
		}
	}
	return false
}

// join offers a wide thread to one executor more, or notes that it has enough offers. The
// caller holds x.open.mu.
func (w world) join(l *openThread, e *routing.Executor, r routing.Request) {
	x, now := w.x, w.now
	joins, could := r.Joins(e, l.choice.Last, w)
	switch {
	case joins && l.claimable(now):
		i, _ := slices.BinarySearch(l.offered, e.ID)
		l.offered = slices.Insert(l.offered, i, e.ID)
		x.open.offer(e.ID, l)
		x.open.waits(l)
		x.publish(x.offer(l, now), e.ID)
	case could:
		x.open.sated[e.ID] = true
	}
}

// everyMinute updates the offers that time changes. A wide thread changes only with the
// hours of executors.
func (x *Exchange) everyMinute() {
	for _, e := range x.registry.Snapshot().Table.All() {
		if e.HasHours() {
			x.registry.MarkChanged(e.ID)
		}
	}
	x.open.mu.Lock()
	var list []*openThread
	for _, set := range x.open.pending {
		for _, l := range set {
			if !l.choice.Wide || l.choice.MoreRanks {
				list = append(list, l)
			}
		}
	}
	x.tidyRooms(x.now())
	x.open.mu.Unlock()
	x.renewAll(list, registry.Changes{All: true})
	x.renew()
}

// place orders the threads that wait for a claim.
type place struct {
	rank    int
	created time.Time
	ref     string
}

func placeOf(e *Envelope) place {
	return place{mess.Rank(e.Priority, e.Needs.Urgency), e.Created, e.Ref}
}

// compare orders by priority, then by urgency, then by age.
func (p place) compare(q place) int {
	return cmp.Or(
		q.rank-p.rank,
		p.created.Compare(q.created), len(p.ref)-len(q.ref), strings.Compare(p.ref, q.ref), // a longer serial is a higher one
	)
}
