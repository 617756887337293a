package exchange

import (
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// KindKey is the field of config.executor that says what an executor is, and
// Person its value for people. Others say nothing, and are robots.
const (
	KindKey = routing.KindKey
	Person  = routing.Person
)

// IsPerson reports whether an executor is a person, who is offered what robots
// do not take, and does it at a person's pace.
func IsPerson(e mess.Executor) bool { return routing.IsPerson(e) }

// personAway is how long a person counts as one who may still take a request,
// without having been heard of: a phone sleeps.
const personAway = 24 * time.Hour

// away is how long an executor counts as one who may come back.
func (x *Exchange) away(e *routing.Executor) time.Duration {
	if e.Person {
		return max(personAway, x.cfg.LostAfter)
	}
	return x.cfg.LostAfter
}

// HasOffer reports whether an executor has an offer of a thread now.
func (x *Exchange) HasOffer(ref, id string) bool {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	l := x.open.byRef[ref]
	return l != nil && slices.Contains(l.offered, id)
}
