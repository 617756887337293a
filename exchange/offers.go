package exchange

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// choose returns the executors to offer a thread to now. The caller holds x.open.mu.
func (x *Exchange) choose(l *openThread, now time.Time) routing.Choice {
	if !l.claimable(now) {
		return routing.Choice{}
	}
	w := x.world(now)
	waits := routing.Waiting{Offered: l.offered, For: now.Sub(l.pending), OfferTime: x.cfg.OfferTime}
	return w.request(&l.env).Choose(w, waits)
}

// reoffer brings the offers of a thread up to date and tells the executors
// whose offers come or go. x.open.mu is held.
func (x *Exchange) reoffer(l *openThread, now time.Time) {
	had := l.offered
	l.choice, l.chosen = x.choose(l, now), now
	l.offered, l.choice.IDs = l.choice.IDs, nil
	slices.Sort(l.offered)
	for _, id := range had {
		if _, keeps := slices.BinarySearch(l.offered, id); keeps {
			continue
		}
		x.open.withdraw(id, l)
		x.refill(id, now)
		if id != l.env.Holder() {
			x.publish(Event{Kind: EventWithdrawn, Thread: l.env, Message: withdrawal(l.env)}, id)
		}
	}
	for _, id := range l.offered {
		if _, has := slices.BinarySearch(had, id); !has {
			x.open.offer(id, l)
			x.publish(x.offer(l, now), id)
		}
	}
	x.open.waits(l)
	for _, id := range l.choice.Sated {
		x.open.sated[id] = true
	}
	l.choice.Sated = nil
}

// refillAt is how few offers an executor has that gets more again.
const refillAt = 16

// refill schedules renew for an executor that had enough offers, once it has few. The
// caller holds x.open.mu.
func (x *Exchange) refill(id string, now time.Time) {
	if x.open.sated[id] && x.open.offered[id].len() < refillAt {
		delete(x.open.sated, id)
		x.due.Set(refillKey+id, now)
	}
}

// refillKey stands before the id of an executor among the deadlines. The others are refs,
// which have no space.
const refillKey = "executor "

// claimable reports whether a thread may be claimed by time and dependencies.
func (l *openThread) claimable(now time.Time) bool {
	return l.env.Status == mess.Pending && l.notYet(now) == "" && !l.late(now)
}

// notYet says what a thread waits for before anybody may claim it.
func (l *openThread) notYet(now time.Time) string {
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

func (l *openThread) late(now time.Time) bool {
	return !l.env.Expires.IsZero() && now.After(l.env.Expires)
}

// offer is the event that offers a thread, without the request, and how long
// there is.
func (x *Exchange) offer(l *openThread, now time.Time) Event {
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
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	l := &openThread{env: env, pending: now, deps: map[string]mess.Code{}}
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
// offer of; "" if somebody has. x.open.mu is held.
func (x *Exchange) outlook(l *openThread) string {
	w := x.world(x.now())
	if wait := l.notYet(w.now); wait != "" {
		return "it waits: " + wait
	}
	if len(l.offered) > 0 || l.env.Status != mess.Pending {
		return ""
	}
	var lacks []string
	for _, c := range l.env.Needs.Requires {
		if !w.s.Table.Has(c) {
			lacks = append(lacks, c.ID)
		}
	}
	if len(lacks) > 0 {
		return fmt.Sprintf("it waits: no executor has %s", strings.Join(lacks, ", "))
	}
	if held := w.drainedOf(l.env); held != "" {
		return "it waits: " + held
	}
	return "it waits: no executor that could take it is there"
}
