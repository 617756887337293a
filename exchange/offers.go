package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/mess"
)

// reoffer brings the offers of a thread up to date and tells the executors
// whose offers come or go. x.mu is held.
func (x *Exchange) reoffer(l *live, now time.Time) {
	want := map[string]bool{}
	if l.claimable(now) {
		for _, e := range x.askedNow(l, now) {
			want[e.ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.offered)) {
		if !want[id] {
			delete(l.offered, id)
			if id != l.env.Holder() {
				x.publish(Event{Kind: EventWithdrawn, Thread: l.env, Message: withdrawal(l.env)}, id)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if !l.offered[id] {
			l.offered[id] = true
			x.publish(x.offer(l, now), id)
		}
	}
}

// reofferAll does so for every thread that waits for a claim, in their order. x.mu is
// held.
func (x *Exchange) reofferAll(now time.Time) {
	for _, l := range x.pendingInOrder() {
		x.reoffer(l, now)
		x.wake(l, x.dueTime(l))
	}
}

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

// candidates are the executors that may take a thread and have not declined.
// x.mu is held.
func (x *Exchange) candidates(env Envelope, now time.Time) []*executor {
	var list []*executor
	for _, e := range x.listed() {
		if !env.HasDeclined(e.ID) && !(env.IsBarred() && IsPerson(e.Executor)) && x.able(e, env, now) == nil {
			list = append(list, e)
		}
	}
	return list
}

// askedNow are the candidates whose turn it is: the preferred ones first, and
// the next rank when the one before has had its time and somebody in it was
// there to take it. Who is on hold is passed over. x.mu is held.
func (x *Exchange) askedNow(l *live, now time.Time) []*executor {
	candidates := slices.DeleteFunc(x.candidates(l.env, now), func(e *executor) bool { return x.held(e.ID) != "" })
	rank := x.preference(l.env)
	slices.SortStableFunc(candidates, func(a, b *executor) int { return rank(a) - rank(b) })
	open := 1 + int(now.Sub(l.pending)/x.cfg.OfferTime)
	var asked []*executor
	for i, e := range candidates {
		if i > 0 && rank(e) != rank(candidates[i-1]) && x.anyLive(asked, rank, rank(candidates[i-1]), now) {
			open--
		}
		if open <= 0 {
			break
		}
		asked = append(asked, e)
	}
	return asked
}

func (x *Exchange) anyLive(list []*executor, rank func(*executor) int, of int, now time.Time) bool {
	return slices.ContainsFunc(list, func(e *executor) bool { return rank(e) == of && x.live(e, now) })
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

// mayClaim returns nil if who may claim a thread now (T2).
func (x *Exchange) mayClaim(who Actor, env Envelope) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	e := x.executors[who.ID]
	if e == nil || !who.Has(ExecutorRole) {
		return mess.Refuse(mess.Forbidden, "%q is not registered as an executor; send config.executor first", who.ID)
	}
	if err := x.able(e, env, now); err != nil {
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

// refusedByAll reports whether everybody who could take a thread has declined
// it. Executors that have been silent for long do not count, but for one that has held
// it: then its silence ends the thread.
func (x *Exchange) refusedByAll(env Envelope) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	return !now.Before(x.allGone(env, now)) && len(x.leftBy(env, now)) == 0
}

// allGone is when the last of those who have not declined a thread counts no
// more, unless he is heard of; never for one who follows now. x.mu is held.
func (x *Exchange) allGone(env Envelope, now time.Time) time.Time {
	gone := now
	for _, e := range x.candidates(env, now) {
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
	for _, e := range x.candidates(env, now) {
		if env.HasHeld(e.ID) {
			left = append(left, fmt.Sprintf("%s had it, and has given no sign of life for %v", e.ID, now.Sub(e.seen).Round(time.Second)))
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
	if !l.claimable(now) {
		return ""
	}
	var names []string
	for _, e := range x.askedNow(l, now) {
		names = append(names, e.ID)
	}
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
		if !slices.ContainsFunc(x.listed(), func(e *executor) bool { return has(e.Capabilities, c) }) {
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
