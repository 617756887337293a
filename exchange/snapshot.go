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

// snapshot is the state of the exchange at one moment. It answers the questions of package routing
// (routing.Presence) and of the thread rules (transition.Snapshot). Its user holds x.open.mu,
// except for IsAble.
type snapshot struct {
	x        *Exchange
	registry *registry.Snapshot
	now      time.Time
}

// snapshot returns the present state.
func (x *Exchange) snapshot(now time.Time) snapshot {
	return snapshot{x, x.registry.Snapshot(), now}
}

// request prepares to route a thread.
func (s snapshot) request(e *Envelope) routing.Request {
	return s.registry.Table.Request(e, s.registry.StopAll.Covers(e), s.now)
}

// IsLive reports whether an executor subscribes now, or has sent something lately.
func (s snapshot) IsLive(e *routing.Executor) bool {
	one := s.registry.Executor(e.ID)
	return one != nil && s.x.registry.IsLive(one, s.now)
}

// IsDrained reports whether an executor takes no new threads.
func (s snapshot) IsDrained(id string) bool { return s.registry.Orders(id).IsDrained() }

// Load returns the number of claims and offers of an executor.
func (s snapshot) Load(id string) int { return s.x.open.held[id].len() + s.x.open.offered[id].len() }

// CheckClaim returns nil if an actor may claim a thread now (transition T2), or a *mess.Error.
func (s snapshot) CheckClaim(actor Actor, env Envelope) error {
	e := s.registry.Executor(actor.ID)
	if e == nil || !actor.Has(ExecutorRole) {
		return mess.Errorf(mess.Forbidden, "%q is no registered executor; send config.executor first", actor.ID)
	}
	if err := s.request(&env).CheckExecutor(e.Executor); err != nil {
		return mess.Errorf(mess.Forbidden, "%q may not claim this: %v", actor.ID, err)
	}
	if o := s.registry.Orders(actor.ID); o.Drain != nil && o.Drain.On {
		return mess.Errorf(mess.NotYet, "%q may not claim this: it is %s", actor.ID, o.DrainReason())
	}
	l := s.x.open.byRef[env.Ref]
	if l == nil {
		return mess.Errorf(mess.IllegalTransition, "it has ended")
	}
	if wait := l.waitReason(&env, s.now); wait != "" {
		return mess.Errorf(mess.NotYet, "no executor may claim it yet: %s", wait)
	}
	if isExpired(&env, s.now) {
		return mess.Errorf(mess.NotYet, "needed by %s, which has passed", env.Expires.Format(time.RFC3339))
	}
	return nil
}

// IsAble reports whether an executor has the abilities for a thread.
func (s snapshot) IsAble(id string, e Envelope) bool {
	one := s.registry.Table.Executor(id)
	return one != nil && s.request(&e).CheckExecutor(one) == nil
}

// IsGone reports whether the holder of a thread has no subscription and has missed a heartbeat, so
// that it may never get a message.
func (s snapshot) IsGone(env Envelope) bool {
	e, l := s.registry.Executor(env.Holder()), s.x.open.byRef[env.Ref]
	late := func(t time.Time) bool { return s.now.Sub(t) > s.x.cfg.Lease/2 }
	return e != nil && l != nil && e.Beats && late(e.Seen()) && late(l.lastContact) && !s.x.events.Present(e.ID)
}

// HasHumanCandidate reports whether a person other than except might take a thread.
func (s snapshot) HasHumanCandidate(env Envelope, except string) bool {
	if s.PersonName(except) != "" {
		return false // a thread that a person has ended stays ended; the person can delegate it
	}
	for e := range s.request(&env).People() {
		if e.ID != except {
			return true
		}
	}
	return false
}

// HumanCandidates returns the names of the people who may still take a thread, sorted; none while a
// live robot may.
func (s snapshot) HumanCandidates(env Envelope) (names []string) {
	for e := range s.request(&env).Candidates() {
		switch {
		case e.Person:
			names = append(names, cmp.Or(e.Name, e.ID))
		case s.IsLive(e):
			return nil
		}
	}
	slices.Sort(names)
	return names
}

// PersonName returns the name of a human executor; "" for a robot.
func (s snapshot) PersonName(id string) string {
	if e := s.registry.Executor(id); e != nil && e.Person {
		return cmp.Or(e.Name, id)
	}
	return ""
}

// IsStopping reports whether an executor has an unconfirmed stop.
func (s snapshot) IsStopping(id string) bool { return len(s.registry.Orders(id).Stops) > 0 }

// Stops returns the number of stops of everything.
func (s snapshot) Stops() uint64 { return s.registry.StopAll.Count }

// StoppedBy describes the stop of everything since the creation of a thread; "" for none.
func (s snapshot) StoppedBy(e Envelope) string {
	if !s.registry.StopAll.Covers(&e) {
		return ""
	}
	return transition.DescribeStop(s.registry.StopAll.Stop)
}

// AllDeclined reports whether all candidates have declined a thread. Executors that were silent for
// long do not count, except a former holder: its silence fails the thread.
func (s snapshot) AllDeclined(env Envelope) bool {
	return !s.now.Before(s.allGoneAt(env)) && len(s.silentHolders(env)) == 0
}

// allGoneAt returns the time at which the last candidate counts as gone, if none of them sends
// anything; eventbus.Never from now for a subscriber.
func (s snapshot) allGoneAt(env Envelope) time.Time {
	gone := s.now
	for c := range s.request(&env).Candidates() {
		if s.x.events.Present(c.ID) {
			return s.now.Add(eventbus.Never)
		}
		seen := s.registry.Executor(c.ID).Seen()
		if seen.Before(s.x.opened) {
			seen = s.x.opened
		}
		if at := seen.Add(s.x.absenceLimit(c) + 1); at.After(gone) {
			gone = at
		}
	}
	return gone
}

// declinedChange returns the change that ends a declined thread, or nil while it has a candidate.
func (s snapshot) declinedChange(e Envelope) transition.Change {
	if len(e.Declined) == 0 || s.now.Before(s.allGoneAt(e)) {
		return nil
	}
	if left := s.silentHolders(e); len(left) > 0 {
		return transition.FailUnreachable(left)
	}
	return transition.Decline
}

// silentHolders describes each former holder that has not declined a thread, with the time of its
// silence.
func (s snapshot) silentHolders(env Envelope) (left []string) {
	for e := range s.request(&env).Candidates() {
		if env.HasHeld(e.ID) {
			left = append(left, fmt.Sprintf("%s had the claim, and has sent no heartbeat for %v", e.ID, s.now.Sub(s.registry.Executor(e.ID).Seen()).Round(time.Second)))
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
