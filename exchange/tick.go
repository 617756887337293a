package exchange

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/mess"
)

// Run watches time: leases, expiry, silent executors, and what becomes due. It
// returns when ctx ends.
func (x *Exchange) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return x.followStore(ctx) })
	g.Go(func() error { x.watchTime(ctx); return nil })
	return g.Wait()
}

// watchTime rings each thread when it is due, and looks at executors' hours
// once a minute.
func (x *Exchange) watchTime(ctx context.Context) {
	minute, look := time.NewTicker(time.Minute), time.NewTicker(glance)
	defer minute.Stop()
	defer look.Stop()
	for {
		ring := x.due.Timer(x.now())
		select {
		case <-ctx.Done():
			return
		case <-x.due.Sooner():
		case <-look.C: // the ring stands still while the machine is suspended, and is made anew
			x.wakeUp()
		case <-minute.C:
			x.everyMinute()
		case <-ring.C:
			x.ringAll(ctx, x.due.Due(x.now()))
		}
		ring.Stop()
	}
}

// glance is how often the exchange looks whether the machine was suspended.
const glance = 5 * time.Second

// wakeUp counts what the machine has slept as time without a sign of life, so that each
// lease is over that would be. It counts one lease at most: an executor that has begun,
// and has slept too, needs time to report.
func (x *Exchange) wakeUp() {
	d := x.sleeps.Woke()
	if d == 0 {
		return
	}
	x.log.Warn("the machine was suspended; claims without a sign of life since are over", "for", d.Round(time.Millisecond))
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	for _, l := range x.open.byRef {
		if l.env.Holder() != "" && !l.env.IsUnreachable() {
			l.heard = l.heard.Add(-min(d, x.lease(l.env)))
		}
		x.wake(l, x.now())
	}
}

// fewRings are so many threads as are looked at one after the other.
const fewRings = 8

// ringAll looks at the threads whose time has come; many beside each other, so that one
// sync of the disk serves several.
func (x *Exchange) ringAll(ctx context.Context, refs []string) {
	var g errgroup.Group
	g.SetLimit(min(1+len(refs)/fewRings, 64))
	for _, ref := range refs {
		if id, ok := strings.CutPrefix(ref, refillKey); ok {
			x.registry.MarkChanged(id)
			continue
		}
		g.Go(func() error { x.ring(ctx, ref); return nil })
	}
	_ = g.Wait() // nobody returns an error
	x.renew()
}

// ring looks at one thread whose time has come.
func (x *Exchange) ring(ctx context.Context, ref string) {
	defer mistake.Caught(x.log, "ref", ref)
	l, due := x.look(ref)
	if !due {
		return
	}
	if _, err := x.step(ctx, ref, func(env Envelope) transition.Input { return x.ownTurn(l, env) }); err != nil {
		x.log.Warn("step by the exchange failed", "ref", ref, "err", err)
		x.open.mu.Lock()
		x.wake(l, x.now().Add(time.Second))
		x.open.mu.Unlock()
	}
}

// look brings the offers of a thread up to date whose time has come, and reports
// whether it is to be changed.
func (x *Exchange) look(ref string) (l *openThread, due bool) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	if l = x.open.byRef[ref]; l == nil {
		return nil, false
	}
	l.alarm = time.Time{}
	if x.overdue(l, x.now()) != nil {
		return l, true
	}
	x.reoffer(l, x.now())
	x.wake(l, x.dueTime(l))
	return l, false
}

// dueTime is when a thread must be looked at next; zero for never. x.open.mu is
// held.
func (x *Exchange) dueTime(l *openThread) time.Time {
	var due time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	e, w := l.env, x.world(x.now())
	if e.Phase == NotStarted && !e.Expires.IsZero() {
		at(e.Expires.Add(time.Nanosecond))
	}
	switch {
	case w.stopEnds(&e):
		at(w.now)
	case e.Status == mess.Pending:
		if w.now.Before(e.NotBefore) {
			at(e.NotBefore)
		} else if l.choice.MoreRanks {
			at(l.pending.Add((w.now.Sub(l.pending)/x.cfg.OfferTime + 1) * x.cfg.OfferTime))
		}
		if l.choice.Wider > 0 {
			at(l.chosen.Add(l.choice.Wider))
		}
		if len(e.Declined) > 0 {
			at(w.allGone(e))
		}
	case e.IsUnreachable():
		at(l.heard.Add(x.lostAfter(e)))
	default:
		at(l.heard.Add(x.lease(e)))
	}
	return due
}

// lostAfter is how long to wait for a started task's executor (T11).
func (x *Exchange) lostAfter(e Envelope) time.Duration {
	return x.lease(e) + max(x.cfg.LostAfter, 2*e.Estimate)
}

// ownTurn is what time makes of a thread.
func (x *Exchange) ownTurn(l *openThread, env Envelope) transition.Input {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	return x.ownStep(env, x.overdue(l, x.now()))
}

// ownStep is a change of the exchange's own; nil is none.
func (x *Exchange) ownStep(env Envelope, change func(*Envelope) *mess.Status) transition.Input {
	in := x.input(Actor{ID: Self}, "", mess.Message{Re: mess.Refs{env.Ref}})
	in.Change = change
	return in
}

// overdue returns what time has made of a thread: a change of its envelope and
// the status that says so; nil if nothing. x.open.mu is held.
func (x *Exchange) overdue(l *openThread, now time.Time) func(*Envelope) *mess.Status {
	e, w := l.env, x.world(now)
	silent := now.Sub(l.heard)
	switch {
	case e.Status.Terminal():
		return nil
	case e.Phase == NotStarted && l.late(now):
		return expire(now)
	case e.Status == mess.Pending:
		if w.stopEnds(&e) {
			return w.stopEnd(e)
		}
		if ends := l.depended(); ends != nil {
			return ends
		}
		return w.refused(e)
	case e.IsUnreachable() && silent < x.lease(e):
		return comeBack
	case e.IsUnreachable() && silent >= x.lostAfter(e):
		return w.lost(e)
	case e.IsUnreachable() || silent < x.lease(e):
		return nil
	case e.Phase == NotStarted:
		return x.offerAgain("no sign of life from " + e.Executor + " before it began")
	}
	return hold
}

// expire ends a thread whose time has passed before it began.
func expire(now time.Time) func(*Envelope) *mess.Status {
	return func(e *Envelope) *mess.Status {
		return &mess.Status{Code: mess.Expired, ExpiredAt: mess.TimeOf(now), Stage: string(e.Status)}
	}
}

// depended ends a thread that depends on one which will not be completed.
func (l *openThread) depended() func(*Envelope) *mess.Status {
	for dep, code := range l.deps {
		if code.Terminal() && code != mess.Completed {
			return func(*Envelope) *mess.Status {
				return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
					Type: "dependency", Detail: fmt.Sprintf("%s ended as %s", dep, code), Effect: mess.EffectNone,
				}, Recoverable: new(true), Suggestion: "ask again without it, or after it"}
			}
		}
	}
	return nil
}

// offerAgain takes a thread that has not begun from its holder (T9), or ends it
// when that has happened too often.
func (x *Exchange) offerAgain(why string) func(*Envelope) *mess.Status {
	return func(e *Envelope) *mess.Status {
		e.Attempts++
		if e.Attempts >= x.cfg.MaxAttempts {
			return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
				Type: "executor_unreachable", Effect: mess.EffectNone,
				Detail: fmt.Sprintf("claimed %d times, and nobody began; last by %s", e.Attempts, e.Executor),
			}, Recoverable: new(true)}
		}
		e.Executor, e.Instance, e.Confirm, e.Questions = "", "", nil, nil
		return &mess.Status{Code: mess.Pending, Message: why + "; on offer again"}
	}
}

// hold marks a begun thread whose holder is silent (T10).
func hold(e *Envelope) *mess.Status {
	e.HeldFrom = e.Status
	return &mess.Status{Code: mess.Held, Reason: &mess.Reason{
		Type: "executor_unreachable", Detail: "no sign of life from " + e.Executor + " since it began",
	}}
}

// comeBack lifts the hold when the executor is heard of again.
func comeBack(e *Envelope) *mess.Status {
	s := &mess.Status{Code: e.HeldFrom, Message: e.Executor + " is back"}
	e.HeldFrom = ""
	return s
}

// lost ends the wait for an executor that does not come back (T11): what may
// be done twice is offered again, unless its requester has taken it back or nobody is
// left to ask, and what may not has an unknown outcome.
func (w world) lost(e Envelope) func(*Envelope) *mess.Status {
	e.Status = mess.Pending // as it would be offered again
	if ends := w.refused(e); ends != nil && e.CancelBy == "" && (e.Effect == "query" || e.Effect == "idempotent") {
		return func(e *Envelope) *mess.Status {
			e.HeldFrom = ""
			s := ends(e)
			switch {
			case e.Effect == "query":
			case s.Code == mess.Failed:
				s.Reason.Effect, s.Suggestion = mess.EffectUnknown, "look before retrying"
			default:
				e.BegunBy = e.Executor
			}
			return s
		}
	}
	return notBack
}

// notBack is lost where that does not depend on who is there.
func notBack(e *Envelope) *mess.Status {
	who := e.Executor
	e.HeldFrom = ""
	switch {
	case e.CancelBy != "" && e.Effect == "query":
		return &mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{
			Type: "cancelled", Effect: mess.EffectNone, Detail: who + " did not come back; it was only looking",
		}}
	case e.CancelBy == "" && (e.Effect == "query" || e.Effect == "idempotent"):
		if e.Effect == "idempotent" {
			e.BegunBy = who
		}
		e.Executor, e.Phase = "", NotStarted
		return &mess.Status{Code: mess.Pending, Message: who + " did not come back; on offer again, since doing it twice does no harm"}
	}
	return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
		Type: "interrupted", Effect: mess.EffectUnknown, Detail: who + " began and did not come back",
	}, Recoverable: new(false), Suggestion: "look before retrying"}
}
