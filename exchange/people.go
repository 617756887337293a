package exchange

import (
	"slices"
	"time"

	"github.com/messkit/messkit/mess"
)

// KindKey is the field of config.executor that says what an executor is, and
// Person its value for people. Others say nothing, and are robots.
const (
	KindKey = "kind"
	Person  = "person"
)

// IsPerson reports whether an executor is a person, who is offered what robots
// do not take, and does it at a person's pace.
func IsPerson(e mess.Executor) bool {
	kind, _ := e.Extra.Get(KindKey)
	return kind == Person
}

// personAway is how long a person counts as one who may still take a request,
// without having been heard of: a phone sleeps.
const personAway = 24 * time.Hour

// away is how long an executor counts as one who may come back.
func (x *Exchange) away(e *executor) time.Duration {
	if IsPerson(e.Executor) {
		return max(personAway, x.cfg.LostAfter)
	}
	return x.cfg.LostAfter
}

// last ranks people after robots, where no rule names them: 0 or 1.
func (e *executor) last() int {
	if IsPerson(e.Executor) {
		return 1
	}
	return 0
}

// couldBeDoneByPeople reports whether a person who is not by might take a thread.
func (x *Exchange) couldBeDoneByPeople(env Envelope, by string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.executors[by]; e != nil && IsPerson(e.Executor) {
		return false // what a person has ended, stays so; she can hand it over
	}
	for _, e := range x.candidates(env, x.now()) {
		if IsPerson(e.Executor) && e.ID != by {
			return true
		}
	}
	return false
}

// isPerson reports whether id is a person who is registered.
func (x *Exchange) isPerson(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.executors[id]
	return e != nil && IsPerson(e.Executor)
}

// bars are the types of the reasons by which somebody, or something that is seen
// there, keeps a robot from acting. What it cannot do because of them nobody is to
// do by hand.
var bars = []string{stopKind, "locked", "disarmed", "interlock", "quiet_hours"}

// isBarred reports whether a status says that something is kept from acting.
func isBarred(s *mess.Status) bool { return s.Reason != nil && slices.Contains(bars, s.Reason.Type) }

// barred reports whether a robot has declined because it is kept from acting.
func (e *Envelope) barred() bool {
	return slices.ContainsFunc(e.Declined, func(d Declined) bool { return d.Barred })
}

// passesOn reports whether what a robot says ends its part and not the thread: it
// has done nothing, and a person might.
func (t *turn) passesOn(s *mess.Status) bool {
	switch {
	case t.env.CancelBy != "" || t.env.Needs.ConfirmBefore && t.env.Confirm != nil && t.env.Confirm.Given != nil && !*t.env.Confirm.Given:
		return false // nobody is to do it
	case isBarred(s):
		return false
	case s.Code == mess.Declined:
		return t.env.Phase == Before && t.people(t.env)
	case s.Code != mess.Failed || s.Reason == nil || s.Reason.Effect != mess.EffectNone:
		return false
	}
	return (t.env.Phase == Before || t.env.Attempts+1 < t.attempts) && t.people(t.env)
}

// Offered reports whether an executor has an offer of a thread now.
func (x *Exchange) Offered(ref, id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.open[ref]
	return l != nil && l.offered[id]
}
