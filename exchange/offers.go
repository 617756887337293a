package exchange

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// request prepares to route a thread. The caller holds x.mu.
func (x *Exchange) request(e *Envelope, now time.Time) routing.Request {
	return x.table.Request(e, x.all.covers(*e), now)
}

// presence answers what routing asks about executors. The caller of routing holds x.mu.
type presence struct {
	x   *Exchange
	now time.Time
}

func (p presence) IsLive(e *routing.Executor) bool {
	one := p.x.executors[e.ID]
	return one != nil && p.x.live(one, p.now)
}

func (p presence) IsDrained(id string) bool { return p.x.held(id) != "" }
func (p presence) Load(id string) int       { return len(p.x.by.held[id]) + len(p.x.by.offered[id]) }

// choose returns the executors to offer a thread to now. The caller holds x.mu.
func (x *Exchange) choose(l *live, now time.Time) routing.Choice {
	if !l.claimable(now) {
		return routing.Choice{}
	}
	w := routing.Waiting{Offered: l.offered, For: now.Sub(l.pending), OfferTime: x.cfg.OfferTime}
	return x.request(&l.env, now).Choose(presence{x, now}, w)
}

// reoffer brings the offers of a thread up to date and tells the executors
// whose offers come or go. x.mu is held.
func (x *Exchange) reoffer(l *live, now time.Time) {
	had := l.offered
	l.choice, l.chosen = x.choose(l, now), now
	l.offered, l.choice.IDs = l.choice.IDs, nil
	slices.Sort(l.offered)
	for _, id := range had {
		if _, keeps := slices.BinarySearch(l.offered, id); keeps {
			continue
		}
		x.by.offered.drop(id, l.env.Ref)
		x.refill(id, now)
		if id != l.env.Holder() {
			x.publish(Event{Kind: EventWithdrawn, Thread: l.env, Message: withdrawal(l.env)}, id)
		}
	}
	for _, id := range l.offered {
		if _, has := slices.BinarySearch(had, id); !has {
			x.by.offered.add(id, l)
			x.publish(x.offer(l, now), id)
		}
	}
	for _, id := range l.choice.Sated {
		x.sated[id] = true
	}
	l.choice.Sated = nil
}

// refillAt is how few offers an executor has that gets more again.
const refillAt = 16

// refill schedules renew for an executor that had enough offers, once it has few. The
// caller holds x.mu.
func (x *Exchange) refill(id string, now time.Time) {
	if x.sated[id] && len(x.by.offered[id]) < refillAt {
		delete(x.sated, id)
		x.due.Set(refillKey+id, now)
	}
}

// refillKey stands before the id of an executor among the deadlines. The others are refs,
// which have no space.
const refillKey = "executor "

// claimable reports whether a thread may be claimed by time and dependencies.
func (l *live) claimable(now time.Time) bool {
	return l.env.Status == mess.Pending && l.notYet(now) == "" && !l.late(now)
}

// notYet says what a thread waits for before anybody may claim it.
func (l *live) notYet(now time.Time) string {
	if now.Before(l.env.NotBefore) {
		return "not before " + l.env.NotBefore.Format(time.RFC3339)
	}
	for dep, code := range l.deps {
		if code != mess.Completed {
			if isRef(dep) {
				return "depends on " + dep + ", which is not completed"
			}
			return "depends on " + dep + ", which has not come or is not completed"
		}
	}
	return ""
}

func (l *live) late(now time.Time) bool {
	return !l.env.Expires.IsZero() && now.After(l.env.Expires)
}

// offer is the event that offers a thread, without the request, and how long
// there is.
func (x *Exchange) offer(l *live, now time.Time) Event {
	m := mess.Message{From: l.env.Requestor, Re: mess.Refs{l.env.Ref}}
	if !l.env.Expires.IsZero() {
		m.ExpiresIn = mess.Duration(l.env.Expires.Sub(now).Round(time.Second).String())
	}
	return Event{Kind: EventOffer, Thread: l.env, Message: m}
}

// withdrawal says how a thread stands that is not on offer any more.
func withdrawal(e Envelope) mess.Message {
	return mess.Message{From: Self, Re: mess.Refs{e.Ref}, Items: []mess.Item{
		&mess.Status{Code: e.Status, Executor: e.Holder()},
	}}
}

// allGone is when the last of those who have not declined a thread counts no
// more, unless he is heard of; never for one who follows now. x.mu is held.
func (x *Exchange) allGone(env Envelope, now time.Time) time.Time {
	gone := now
	for c := range x.request(&env, now).Candidates() {
		e := x.executors[c.ID]
		if x.events.Present(e.ID) {
			return now.Add(eventbus.Never)
		}
		seen := e.seen
		if seen.Before(x.opened) {
			seen = x.opened
		}
		if at := seen.Add(x.away(e) + 1); at.After(gone) {
			gone = at
		}
	}
	return gone
}

// refused ends a thread that was declined, if nobody is left to ask. x.mu is
// held.
func (x *Exchange) refused(e Envelope, now time.Time) func(*Envelope) *mess.Status {
	if len(e.Declined) == 0 || now.Before(x.allGone(e, now)) {
		return nil
	}
	if left := x.leftBy(e, now); len(left) > 0 {
		return unreachable(left)
	}
	return func(e *Envelope) *mess.Status {
		return &mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: e.DeclineReasons()}}
	}
}

// leftBy says of each executor that has held a thread, and has not declined it, for how
// long it is away. x.mu is held.
func (x *Exchange) leftBy(env Envelope, now time.Time) (left []string) {
	for e := range x.request(&env, now).Candidates() {
		if env.HasHeld(e.ID) {
			left = append(left, fmt.Sprintf("%s had it, and has given no sign of life for %v", e.ID, now.Sub(x.executors[e.ID].seen).Round(time.Second)))
		}
	}
	return left
}

// unreachable ends a thread whose executor is away, where the others have declined it.
func unreachable(left []string) func(*Envelope) *mess.Status {
	return func(e *Envelope) *mess.Status {
		return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
			Type: "executor_unreachable", Effect: mess.EffectNone, Detail: strings.Join(left, "; ") + "; " + e.DeclineReasons(),
		}, Recoverable: new(true)}
	}
}

// dispatched is the note for the history of a new thread: to whom it is
// offered first.
func (x *Exchange) dispatched(env Envelope, now time.Time) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := &live{env: env, pending: now, deps: map[string]mess.Code{}}
	for _, dep := range env.DependsOn {
		l.deps[dep] = ""
	}
	names := x.choose(l, now).IDs
	if len(names) == 0 {
		return ""
	}
	return "offered to " + strings.Join(names, ", ")
}

// outlook tells a requester what to expect of a new thread that nobody has an
// offer of; "" if somebody has. x.mu is held.
func (x *Exchange) outlook(l *live) string {
	now := x.now()
	if wait := l.notYet(now); wait != "" {
		return "it waits: " + wait
	}
	if len(l.offered) > 0 || l.env.Status != mess.Pending {
		return ""
	}
	var lacks []string
	for _, c := range l.env.Needs.Requires {
		if !x.table.Has(c) {
			lacks = append(lacks, c.ID)
		}
	}
	if len(lacks) > 0 {
		return fmt.Sprintf("it waits: no executor has %s", strings.Join(lacks, ", "))
	}
	if held := x.heldOf(l.env); held != "" {
		return "it waits: " + held
	}
	return "it waits: no executor that could take it is there"
}
