package exchange

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// earlier compares two threads that wait for a claim: by priority, then by urgency,
// then by age.
func earlier(a, b Envelope) int {
	return cmp.Or(
		mess.Rank(b.Priority, b.Needs.Urgency)-mess.Rank(a.Priority, a.Needs.Urgency),
		a.Created.Compare(b.Created), len(a.Ref)-len(b.Ref), strings.Compare(a.Ref, b.Ref), // a longer serial is a higher one
	)
}

// pendingInOrder are the threads that wait for a claim, the first one first. x.mu is
// held.
func (x *Exchange) pendingInOrder() []*live {
	var list []*live
	for _, l := range x.open {
		if l.env.Status == mess.Pending {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *live) int { return earlier(a.env, b.env) })
	return list
}

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
	before, beside := int64(0), false
	for _, other := range x.open {
		if other == l || other.env.Status != mess.Pending || !sameQueue(l, other) {
			continue
		}
		if beside = true; earlier(other.env, l.env) < 0 {
			before++
		}
	}
	if !beside && slices.ContainsFunc(x.listed(), func(e *executor) bool { return l.offered[e.ID] && x.live(e, now) }) {
		return 0
	}
	return before + 1
}

// sameQueue reports whether two threads are on offer to the same executor, or both to
// nobody.
func sameQueue(a, b *live) bool {
	for id := range a.offered {
		if b.offered[id] {
			return true
		}
	}
	return len(a.offered) == 0 && len(b.offered) == 0
}
