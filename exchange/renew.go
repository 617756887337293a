package exchange

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// changes collects the changes of executors for renew. Exchange.mu guards it.
type changes struct {
	executors map[string]bool // ids
	places    bool            // other places are served
	all       bool            // rules or orders that concern every thread
}

// changedExecutor notes a change that decides what an executor is offered. The caller
// holds x.mu, and calls renew when it has freed it.
func (x *Exchange) changedExecutor(id string) {
	if x.stale.executors == nil {
		x.stale.executors = map[string]bool{}
	}
	x.stale.executors[id] = true
}

// fewThreads is how many threads renew works on before it lets others have x.mu.
const fewThreads = 16

// renew updates the offers of the threads that changes of executors concern, the first in
// order first. It lets others have x.mu in between. The caller does not hold x.mu.
func (x *Exchange) renew() {
	x.mu.Lock()
	c := x.stale
	x.stale = changes{}
	list := x.concerned(c)
	x.mu.Unlock()
	slices.SortFunc(list, func(a, b waiting) int { return a.at.compare(b.at) })
	for few := range slices.Chunk(list, fewThreads) {
		x.renewFew(few, c)
	}
}

func (x *Exchange) renewFew(few []waiting, c changes) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	for _, w := range few {
		if l := w.live; l.env.Status == mess.Pending && x.renewOne(l, c, now) {
			x.reoffer(l, now)
			x.wake(l, x.dueTime(l))
		}
	}
}

// concerned returns the threads whose offers may change. The caller holds x.mu.
func (x *Exchange) concerned(c changes) (list []waiting) {
	found := liveSet{}
	if c.all || c.places {
		for _, set := range x.by.pending {
			for ref, l := range set {
				if a := l.env.Needs.Location; c.all || a != nil && a.Name != "" {
					found[ref] = l
				}
			}
		}
	}
	for id := range c.executors {
		maps.Copy(found, x.by.offered[id])
		e := x.table.Executor(id)
		if e == nil || c.all {
			continue
		}
		maps.Copy(found, x.by.pending[""])
		for _, one := range e.Capabilities {
			maps.Copy(found, x.by.pending[one.ID])
		}
	}
	for _, l := range found {
		list = append(list, waiting{placeOf(l.env), l})
	}
	return list
}

// renewOne reports whether routing must choose again for a thread. A thread that all who
// are there have an offer of needs no new choice for one more. The caller holds x.mu.
func (x *Exchange) renewOne(l *live, c changes, now time.Time) bool {
	if c.all || c.places || !(l.choice.Full || l.choice.Wide) {
		return true
	}
	r := x.request(&l.env, now)
	rank := r.Rank()
	for id := range c.executors {
		e := x.table.Executor(id)
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
			x.join(l, e, r, now)
		}
	}
	return false
}

// join offers a wide thread to one executor more, or notes that it has enough offers. The
// caller holds x.mu.
func (x *Exchange) join(l *live, e *routing.Executor, r routing.Request, now time.Time) {
	joins, could := r.Joins(e, l.choice.Last, presence{x, now})
	switch {
	case joins && l.claimable(now):
		i, _ := slices.BinarySearch(l.offered, e.ID)
		l.offered = slices.Insert(l.offered, i, e.ID)
		x.by.offered.add(e.ID, l)
		x.publish(x.offer(l, now), e.ID)
	case could:
		x.sated[e.ID] = true
	}
}

// everyMinute updates the offers that time changes. A wide thread changes only with the
// hours of executors.
func (x *Exchange) everyMinute() {
	x.mu.Lock()
	for _, e := range x.table.All() {
		if e.HasHours() {
			x.changedExecutor(e.ID)
		}
	}
	var list []waiting
	for _, set := range x.by.pending {
		for _, l := range set {
			if !l.choice.Wide || l.choice.MoreRanks {
				list = append(list, waiting{placeOf(l.env), l})
			}
		}
	}
	x.tidyRooms(x.now())
	x.mu.Unlock()
	slices.SortFunc(list, func(a, b waiting) int { return a.at.compare(b.at) })
	for few := range slices.Chunk(list, fewThreads) {
		x.renewFew(few, changes{all: true})
	}
	x.renew()
}

// place orders the threads that wait for a claim.
type place struct {
	rank    int
	created time.Time
	ref     string
}

func placeOf(e Envelope) place {
	return place{mess.Rank(e.Priority, e.Needs.Urgency), e.Created, e.Ref}
}

// compare orders by priority, then by urgency, then by age.
func (p place) compare(q place) int {
	return cmp.Or(
		q.rank-p.rank,
		p.created.Compare(q.created), len(p.ref)-len(q.ref), strings.Compare(p.ref, q.ref), // a longer serial is a higher one
	)
}

// waiting is a thread that waits, with its place.
type waiting struct {
	at   place
	live *live
}
