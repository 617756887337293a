package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
func (x *Exchange) away(e *executor) time.Duration {
	if e.Person {
		return max(personAway, x.cfg.LostAfter)
	}
	return x.cfg.LostAfter
}

// couldBeDoneByPeople reports whether a person who is not by might take a thread.
func (x *Exchange) couldBeDoneByPeople(env Envelope, by string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.executors[by]; e != nil && e.Person {
		return false // what a person has ended, stays so; she can hand it over
	}
	for e := range x.request(&env, x.now()).People() {
		if e.ID != by {
			return true
		}
	}
	return false
}

// leftTo are the names of the people who alone may still take a thread; none while a
// robot may.
func (x *Exchange) leftTo(env Envelope) (names []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	for e := range x.request(&env, now).Candidates() {
		switch {
		case e.Person:
			names = append(names, cmp.Or(e.Name, e.ID))
		case x.live(x.executors[e.ID], now):
			return nil
		}
	}
	slices.Sort(names)
	return names
}

// personName is how a person is called who is registered as id, "" for a robot.
func (x *Exchange) personName(id string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.executors[id]; e != nil && e.Person {
		return cmp.Or(e.Name, id)
	}
	return ""
}

// bars are the types of the reasons by which somebody, or something that is seen
// there, keeps a robot from acting. What it cannot do because of them nobody is to
// do by hand.
var bars = []string{stopKind, "locked", "disarmed", "interlock", "quiet_hours"}

// isBarred reports whether a status says that something is kept from acting.
func isBarred(s *mess.Status) bool { return s.Reason != nil && slices.Contains(bars, s.Reason.Type) }

// again are the types of the reasons that tell the requester to ask anew: what he
// meant, or whether he means it, nobody else knows either.
var again = []string{"not_understood", "not_confirmed"}

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
	case s.Code != mess.Failed || s.Reason == nil || s.Reason.Effect != mess.EffectNone, slices.Contains(again, s.Reason.Type):
		return false
	}
	return (t.env.Phase == Before || t.env.Attempts+1 < t.attempts) && t.people(t.env)
}

// toPeople says in the thread that it is left to people, and why, once the last robot
// has said that it does not do it.
func (t *turn) toPeople() {
	if t.env.Status != mess.Pending || t.env.HandedTo != "" || t.byPerson() {
		return
	}
	robots := t.env
	robots.Declined = slices.DeleteFunc(slices.Clone(robots.Declined), func(d Declined) bool { return t.person(d.Executor) != "" })
	if names := t.leftTo(t.env); len(names) > 0 {
		t.also = &mess.Message{From: Self, Received: t.message.Received, Re: mess.Refs{t.env.Ref}, Items: []mess.Item{
			&mess.Status{Code: mess.Pending, Message: fmt.Sprintf("no robot here does it (%s); offered to %s", robots.DeclineReasons(), strings.Join(names, ", "))},
		}}
	}
}

// Offered reports whether an executor has an offer of a thread now.
func (x *Exchange) Offered(ref, id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.by.offered[id][ref] != nil
}
