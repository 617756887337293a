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

// world is the state of the exchange at one moment. It answers the questions of package routing
// (routing.Presence) and of the thread rules (transition.World). Its user holds x.open.mu, except
// for IsAble.
type world struct {
	x   *Exchange
	s   *registry.Snapshot
	now time.Time
}

// world returns the present state.
func (x *Exchange) world(now time.Time) world { return world{x, x.registry.Snapshot(), now} }

// request prepares to route a thread.
func (w world) request(e *Envelope) routing.Request {
	return w.s.Table.Request(e, w.s.StopAll.Covers(e), w.now)
}

// IsLive reports whether an executor subscribes now, or has sent something lately.
func (w world) IsLive(e *routing.Executor) bool {
	one := w.s.Executor(e.ID)
	return one != nil && w.x.registry.IsLive(one, w.now)
}

// IsDrained reports whether an executor takes no new threads.
func (w world) IsDrained(id string) bool { return w.s.Orders(id).IsDrained() }

// Load returns the number of claims and offers of an executor.
func (w world) Load(id string) int { return w.x.open.held[id].len() + w.x.open.offered[id].len() }

// MayClaim returns nil if an actor may claim a thread now (T2), or a *mess.Error.
func (w world) MayClaim(who Actor, env Envelope) error {
	e := w.s.Executor(who.ID)
	if e == nil || !who.Has(ExecutorRole) {
		return mess.Errorf(mess.Forbidden, "%q is no registered executor; send config.executor first", who.ID)
	}
	if err := w.request(&env).Unable(e.Executor); err != nil {
		return mess.Errorf(mess.Forbidden, "%q may not claim this: %v", who.ID, err)
	}
	if o := w.s.Orders(who.ID); o.Drain != nil && o.Drain.On {
		return mess.Errorf(mess.NotYet, "%q may not claim this: it is %s", who.ID, o.DrainReason())
	}
	l := w.x.open.byRef[env.Ref]
	if l == nil {
		return mess.Errorf(mess.IllegalTransition, "it has ended")
	}
	if wait := l.waitReason(&env, w.now); wait != "" {
		return mess.Errorf(mess.NotYet, "nobody may claim it yet: %s", wait)
	}
	if isExpired(&env, w.now) {
		return mess.Errorf(mess.NotYet, "needed by %s, which has passed", env.Expires.Format(time.RFC3339))
	}
	return nil
}

// IsAble reports whether an executor has the abilities for a thread.
func (w world) IsAble(id string, e Envelope) bool {
	one := w.s.Table.Executor(id)
	return one != nil && w.request(&e).Unable(one) == nil
}

// IsGone reports whether the holder of a thread has no subscription and has missed a heartbeat, so
// that it may never get a message.
func (w world) IsGone(env Envelope) bool {
	e, l := w.s.Executor(env.Holder()), w.x.open.byRef[env.Ref]
	late := func(t time.Time) bool { return w.now.Sub(t) > w.x.cfg.Lease/2 }
	return e != nil && l != nil && e.Beats && late(e.Seen()) && late(l.heard) && !w.x.events.Present(e.ID)
}

// HasHumanCandidate reports whether a person other than by might take a thread.
func (w world) HasHumanCandidate(env Envelope, by string) bool {
	if w.PersonName(by) != "" {
		return false // a thread that a person has ended stays ended; the person can delegate it
	}
	for e := range w.request(&env).People() {
		if e.ID != by {
			return true
		}
	}
	return false
}

// HumanCandidates returns the names of the people who may still take a thread, sorted; none while a
// live robot may.
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

// PersonName returns the name of a human executor; "" for a robot.
func (w world) PersonName(id string) string {
	if e := w.s.Executor(id); e != nil && e.Person {
		return cmp.Or(e.Name, id)
	}
	return ""
}

// IsStopping reports whether an executor has an unconfirmed stop.
func (w world) IsStopping(id string) bool { return len(w.s.Orders(id).Stops) > 0 }

// Stops returns the number of stops of everything.
func (w world) Stops() uint64 { return w.s.StopAll.Count }

// StoppedBy describes the stop of everything since the creation of a thread; "" for none.
func (w world) StoppedBy(e Envelope) string {
	if !w.s.StopAll.Covers(&e) {
		return ""
	}
	return transition.DescribeStop(w.s.StopAll.Stop)
}

// AllDeclined reports whether all candidates have declined a thread. Executors that were silent for
// long do not count, except a former holder: its silence fails the thread.
func (w world) AllDeclined(env Envelope) bool {
	return !w.now.Before(w.allGoneAt(env)) && len(w.silentHolders(env)) == 0
}

// allGoneAt returns the time at which the last candidate counts as gone, if none of them sends
// anything; eventbus.Never from now for a subscriber.
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

// declinedChange returns the change that ends a declined thread, or nil while it has a candidate.
func (w world) declinedChange(e Envelope) transition.Change {
	if len(e.Declined) == 0 || w.now.Before(w.allGoneAt(e)) {
		return nil
	}
	if left := w.silentHolders(e); len(left) > 0 {
		return transition.FailUnreachable(left)
	}
	return transition.Decline
}

// silentHolders describes each former holder that has not declined a thread, with the time of its
// silence.
func (w world) silentHolders(env Envelope) (left []string) {
	for e := range w.request(&env).Candidates() {
		if env.HasHeld(e.ID) {
			left = append(left, fmt.Sprintf("%s had it, and has given no sign of life for %v", e.ID, w.now.Sub(w.s.Executor(e.ID).Seen()).Round(time.Second)))
		}
	}
	return left
}

// personAway is the silence after which a person is no candidate any more: phones sleep.
const personAway = 24 * time.Hour

// absenceLimit returns the silence after which an executor is no candidate any more.
func (x *Exchange) absenceLimit(e *routing.Executor) time.Duration {
	if e.Person {
		return max(personAway, x.cfg.LostAfter)
	}
	return x.cfg.LostAfter
}
