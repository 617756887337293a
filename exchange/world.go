package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
)

// world is the exchange at one moment, as routing and the rules of threads see it. Its user
// holds x.open.mu, but for IsAble.
type world struct {
	x   *Exchange
	s   *registry.Snapshot
	now time.Time
}

// world returns the exchange as it is now.
func (x *Exchange) world(now time.Time) world { return world{x, x.registry.Snapshot(), now} }

// request prepares to route a thread.
func (w world) request(e *Envelope) routing.Request {
	return w.s.Table.Request(e, w.s.StopAll.Covers(e), w.now)
}

// IsLive reports whether an executor has been heard of lately, or follows now.
func (w world) IsLive(e *routing.Executor) bool {
	one := w.s.Executor(e.ID)
	return one != nil && w.x.registry.IsLive(one, w.now)
}

// IsDrained reports whether an executor takes nothing new.
func (w world) IsDrained(id string) bool { return w.s.Orders(id).IsDrained() }

// Load is how many threads an executor holds, or has an offer of.
func (w world) Load(id string) int { return len(w.x.open.held[id]) + w.x.open.offered[id].len() }

// MayClaim returns nil if who may claim a thread now (T2).
func (w world) MayClaim(who Actor, env Envelope) error {
	e := w.s.Executor(who.ID)
	if e == nil || !who.Has(ExecutorRole) {
		return mess.Errorf(mess.Forbidden, "%q is not registered as an executor; send config.executor first", who.ID)
	}
	if err := w.request(&env).Unable(e.Executor); err != nil {
		return mess.Errorf(mess.Forbidden, "%q may not claim this: %v", who.ID, err)
	}
	if o := w.s.Orders(who.ID); o.Drain != nil && o.Drain.On {
		return mess.Errorf(mess.NotYet, "%q may not claim this: it is %s", who.ID, o.WhyDrained())
	}
	l := w.x.open.byRef[env.Ref]
	if l == nil {
		return mess.Errorf(mess.IllegalTransition, "it has ended")
	}
	if wait := l.waitReason(w.now); wait != "" {
		return mess.Errorf(mess.NotYet, "it may not be claimed yet: %s", wait)
	}
	if l.isExpired(w.now) {
		return mess.Errorf(mess.NotYet, "needed by %s, which has passed", env.Expires.Format(time.RFC3339))
	}
	return nil
}

// IsAble reports whether an executor is able to do what a thread asks for.
func (w world) IsAble(id string, e Envelope) bool {
	one := w.s.Table.Executor(id)
	return one != nil && w.request(&e).Unable(one) == nil
}

// IsGone reports whether the holder of a thread has hung up and left out a
// heartbeat: what is said to it now it may never hear.
func (w world) IsGone(env Envelope) bool {
	e, l := w.s.Executor(env.Holder()), w.x.open.byRef[env.Ref]
	late := func(t time.Time) bool { return w.now.Sub(t) > w.x.cfg.Lease/2 }
	return e != nil && l != nil && e.Beats && late(e.Seen()) && late(l.heard) && !w.x.events.Present(e.ID)
}

// HasHumanCandidate reports whether a person who is not by might take a thread.
func (w world) HasHumanCandidate(env Envelope, by string) bool {
	if w.PersonName(by) != "" {
		return false // what a person has ended, stays so; she can hand it over
	}
	for e := range w.request(&env).People() {
		if e.ID != by {
			return true
		}
	}
	return false
}

// HumanCandidates are the names of the people who alone may still take a thread; none while a
// robot may.
func (w world) HumanCandidates(env Envelope) (names []string) {
	for e := range w.request(&env).Candidates() {
		switch {
		case e.Person:
			names = append(names, cmp.Or(e.Name, e.ID))
		case w.IsLive(e):
			return nil
		}
	}
	slices.Sort(names)
	return names
}

// PersonName is how a person is called who is registered as id, "" for a robot.
func (w world) PersonName(id string) string {
	if e := w.s.Executor(id); e != nil && e.Person {
		return cmp.Or(e.Name, id)
	}
	return ""
}

// IsStopping reports whether an executor has not confirmed a stop.
func (w world) IsStopping(id string) bool { return len(w.s.Orders(id).Stops) > 0 }

// Stops is how often everything was stopped.
func (w world) Stops() uint64 { return w.s.StopAll.Count }

// StoppedBy says who has stopped everything since a thread was asked, "" if nobody has.
func (w world) StoppedBy(e Envelope) string {
	if !w.s.StopAll.Covers(&e) {
		return ""
	}
	return transition.DescribeStop(w.s.StopAll.Stop)
}

// AllDeclined reports whether everybody who could take a thread has declined
// it. Executors that have been silent for long do not count, but for one that has held
// it: then its silence ends the thread.
func (w world) AllDeclined(env Envelope) bool {
	return !w.now.Before(w.allGoneAt(env)) && len(w.silentHolders(env)) == 0
}

// allGoneAt is when the last of those who have not declined a thread counts no
// more, unless he is heard of; never for one who follows now.
func (w world) allGoneAt(env Envelope) time.Time {
	gone := w.now
	for c := range w.request(&env).Candidates() {
		if w.x.events.Present(c.ID) {
			return w.now.Add(eventbus.Never)
		}
		seen := w.s.Executor(c.ID).Seen()
		if seen.Before(w.x.opened) {
			seen = w.x.opened
		}
		if at := seen.Add(w.x.absenceLimit(c) + 1); at.After(gone) {
			gone = at
		}
	}
	return gone
}

// declinedChange ends a thread that was declined, if nobody is left to ask.
func (w world) declinedChange(e Envelope) transition.Change {
	if len(e.Declined) == 0 || w.now.Before(w.allGoneAt(e)) {
		return nil
	}
	if left := w.silentHolders(e); len(left) > 0 {
		return transition.FailUnreachable(left)
	}
	return transition.Decline
}

// silentHolders says of each executor that has held a thread, and has not declined it, for how
// long it is away.
func (w world) silentHolders(env Envelope) (left []string) {
	for e := range w.request(&env).Candidates() {
		if env.HasHeld(e.ID) {
			left = append(left, fmt.Sprintf("%s had it, and has given no sign of life for %v", e.ID, w.now.Sub(w.s.Executor(e.ID).Seen()).Round(time.Second)))
		}
	}
	return left
}

// personAway is how long a person counts as one who may still take a request,
// without having been heard of: a phone sleeps.
const personAway = 24 * time.Hour

// absenceLimit is how long an executor counts as one who may come back.
func (x *Exchange) absenceLimit(e *routing.Executor) time.Duration {
	if e.Person {
		return max(personAway, x.cfg.LostAfter)
	}
	return x.cfg.LostAfter
}
