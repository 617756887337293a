package exchange

import (
	"slices"
	"time"

	"github.com/messkit/messkit/mess"
)

// mostCounted bounds the queue in which a place is told: to count a longer one would
// hold up everybody with each new request.
const mostCounted = 4096

// queuePosition is the place of a thread in the queue for its executors: 1 is the next
// one. It is 0 where the thread does not wait: it alone is on offer to an executor that
// is there. x.mu is held.
func (x *Exchange) queuePosition(l *live, now time.Time) int64 {
	if l.env.Status != mess.Pending || len(x.open) > mostCounted {
		return 0
	}
	mine, before := placeOf(l.env), int64(0)
	queue := x.sameQueue(l)
	for _, other := range queue {
		if placeOf(other.env).compare(mine) < 0 {
			before++
		}
	}
	w := x.world(now)
	isThere := func(id string) bool { return x.registry.IsLive(w.s.Executor(id), now) }
	if len(queue) == 0 && slices.ContainsFunc(l.offered, isThere) {
		return 0
	}
	return before + 1
}

// sameQueue are the other threads that are on offer to an executor of one, or to nobody
// as it is. x.mu is held.
func (x *Exchange) sameQueue(l *live) liveSet {
	queue := liveSet{}
	for _, id := range l.offered {
		for ref, other := range x.by.offered[id] {
			queue[ref] = other
		}
	}
	if len(l.offered) == 0 {
		for ref, other := range x.open {
			if other.env.Status == mess.Pending && len(other.offered) == 0 {
				queue[ref] = other
			}
		}
	}
	delete(queue, l.env.Ref)
	return queue
}
