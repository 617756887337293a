package exchange

import (
	"cmp"
	"slices"
	"time"

	"github.com/messkit/messkit/mess"
)

// world is the exchange as the rules of threads see it. Who uses it holds x.mu: the rules
// see one moment.
type world struct{ x *Exchange }

// MayClaim returns nil if who may claim a thread now (T2).
func (w world) MayClaim(who Actor, env Envelope) error {
	x, now := w.x, w.x.now()
	e := x.executors[who.ID]
	if e == nil || !who.Has(ExecutorRole) {
		return mess.Refuse(mess.Forbidden, "%q is not registered as an executor; send config.executor first", who.ID)
	}
	if err := x.request(&env, now).Unable(e.Executor); err != nil {
		return mess.Refuse(mess.Forbidden, "%q may not claim this: %v", who.ID, err)
	}
	if o := x.holds[who.ID]; o.On {
		return mess.Refuse(mess.NotReady, "%q may not claim this: it is %s", who.ID, x.held(who.ID))
	}
	l := x.open[env.Ref]
	if l == nil {
		return mess.Refuse(mess.Illegal, "it has ended")
	}
	if wait := l.notYet(now); wait != "" {
		return mess.Refuse(mess.NotReady, "it may not be claimed yet: %s", wait)
	}
	if l.late(now) {
		return mess.Refuse(mess.NotReady, "needed by %s, which has passed", env.Expires.Format(time.RFC3339))
	}
	return nil
}

// IsAble reports whether an executor is able to do what a thread asks for.
func (w world) IsAble(id string, e Envelope) bool {
	one := w.x.table.Executor(id)
	return one != nil && w.x.request(&e, w.x.now()).Unable(one) == nil
}

// IsGone reports whether the holder of a thread has hung up and left out a
// heartbeat: what is said to it now it may never hear.
func (w world) IsGone(env Envelope) bool {
	x := w.x
	e, l, now := x.executors[env.Holder()], x.open[env.Ref], x.now()
	late := func(t time.Time) bool { return now.Sub(t) > x.cfg.Lease/2 }
	return e != nil && l != nil && e.beats && late(e.seen) && late(l.heard) && !x.events.Present(e.ID)
}

// MayPeopleDo reports whether a person who is not by might take a thread.
func (w world) MayPeopleDo(env Envelope, by string) bool {
	if w.PersonName(by) != "" {
		return false // what a person has ended, stays so; she can hand it over
	}
	for e := range w.x.request(&env, w.x.now()).People() {
		if e.ID != by {
			return true
		}
	}
	return false
}

// PeopleLeft are the names of the people who alone may still take a thread; none while a
// robot may.
func (w world) PeopleLeft(env Envelope) (names []string) {
	now := w.x.now()
	for e := range w.x.request(&env, now).Candidates() {
		switch {
		case e.Person:
			names = append(names, cmp.Or(e.Name, e.ID))
		case w.x.live(w.x.executors[e.ID], now):
			return nil
		}
	}
	slices.Sort(names)
	return names
}

// PersonName is how a person is called who is registered as id, "" for a robot.
func (w world) PersonName(id string) string {
	if e := w.x.executors[id]; e != nil && e.Person {
		return cmp.Or(e.Name, id)
	}
	return ""
}

// IsStopping reports whether an executor has not confirmed a stop.
func (w world) IsStopping(id string) bool { return len(w.x.stops[id]) > 0 }

// Stops is how often everything was stopped.
func (w world) Stops() uint64 { return w.x.all.Count }

// StoppedBy says who has stopped everything since a thread was asked, "" if nobody has.
func (w world) StoppedBy(e Envelope) string {
	if !w.x.all.covers(e) {
		return ""
	}
	return whatStopped(w.x.all.Stop)
}

// AllDeclined reports whether everybody who could take a thread has declined
// it. Executors that have been silent for long do not count, but for one that has held
// it: then its silence ends the thread.
func (w world) AllDeclined(env Envelope) bool {
	now := w.x.now()
	return !now.Before(w.x.allGone(env, now)) && len(w.x.leftBy(env, now)) == 0
}
