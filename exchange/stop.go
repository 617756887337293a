package exchange

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
)

// mayOrder lets those order executors who may ask for something; item is what
// they have written in a config.
func mayOrder(who Actor, item string) error {
	if who.Has(Requester) || who.Has(Operator) {
		return nil
	}
	return mess.Errorf(mess.Forbidden, "config.%s: %q may not ask for anything here; use a requester's or the operator's key", item, who.ID)
}

// Stop orders executors to stop everything: those that it names, or all that
// are registered, but for people who do nothing now. An executor that follows gets it at
// once, before it is on the disk; one that is away, or was deregistered, gets it when it
// comes back. Every channel calls this, and none can take it back.
func (x *Exchange) Stop(ctx context.Context, who Actor, s mess.Stop) (mess.Stop, error) {
	if err := mayOrder(who, "stop"); err != nil {
		return mess.Stop{}, err
	}
	everybody := len(s.Executors) == 0
	s.Reason = registry.CutReason(s.Reason) // a stop is not refused for its words
	s.ID, s.By, s.At, s.Ending = rand.Text(), who.ID, mess.TimeOf(x.now()), 0
	ids, err := x.registry.Stop(ctx, s)
	if err != nil {
		return mess.Stop{}, x.broken(err)
	}
	if everybody {
		s.Ending = x.endWaiting(ctx)
	}
	now := x.registry.Snapshot()
	s.Executors = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return now.Executor(id).Deregistered })
	x.log.Warn("stop", "actor", who.ID, "executors", len(ids), "err", s.Reason)
	return s, nil
}

// whatStopped is who has stopped everything, and why.
func whatStopped(s mess.Stop) string {
	if s.Reason == "" {
		return s.By + " has stopped everything"
	}
	return fmt.Sprintf("%s has stopped everything (%s)", s.By, s.Reason)
}

// leftToPeople has no robot begin a thread any more.
func leftToPeople(s mess.Stop) func(*Envelope) *mess.Status {
	return func(e *Envelope) *mess.Status {
		e.Stopped = true
		return &mess.Status{Code: mess.Pending, Message: whatStopped(s) + " while it waited; it is left to people"}
	}
}

// stoppedBefore ends a thread that waits for somebody.
func stoppedBefore(s mess.Stop) func(*Envelope) *mess.Status {
	return func(e *Envelope) *mess.Status {
		effect := mess.EffectNone
		if e.BegunBy != "" { // by an executor that did not come back
			effect = mess.EffectUnknown
		}
		return &mess.Status{
			Code: mess.Failed, Reason: &mess.Reason{Type: "stop", Detail: whatStopped(s) + " before anybody began", Effect: effect},
			Recoverable: new(true), Suggestion: "ask anew when it is released",
		}
	}
}

// atWork are the statuses in which somebody's hands may be at a thread.
var atWork = []mess.Code{mess.Claimed, mess.InProgress, mess.Waiting, mess.Held, mess.Retrying}

// hasStopped writes into the threads that a person holds that she has stopped, which
// of a robot its reports say.
func (x *Exchange) hasStopped(ctx context.Context, id string) error {
	e := x.registry.Snapshot().Executor(id)
	if e == nil || !e.Person {
		return nil
	}
	name := cmp.Or(e.Name, id)
	for _, ref := range x.heldRefs(id) {
		_, err := x.step(ctx, ref, func(env Envelope) transition.Input {
			if env.Holder() != id || !slices.Contains(atWork, env.Status) {
				return x.ownStep(env, nil)
			}
			return x.ownStep(env, func(*Envelope) *mess.Status {
				return &mess.Status{Code: env.Status, Executor: id, Message: name + " says: I have stopped"}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// heldRefs lists the open threads that an executor holds.
func (x *Exchange) heldRefs(id string) []string {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	return slices.Sorted(maps.Keys(x.open.held[id]))
}

// stopEnds reports whether a stop of everything ends a thread that waits, or leaves it
// to people.
func (w world) stopEnds(e *Envelope) bool {
	return e.Status == mess.Pending && !e.Stopped && w.s.StopAll.Covers(e)
}

// stopEnd is how it does so: what people may do stays offered to them alone, and the
// rest ends.
func (w world) stopEnd(e Envelope) func(*Envelope) *mess.Status {
	for range w.request(&e).People() {
		return leftToPeople(w.s.StopAll.Stop)
	}
	return stoppedBefore(w.s.StopAll.Stop)
}

// How long who stops everything waits for what waited to end, and how often he looks.
// Run ends it, and goes on with the rest; nothing of it can begin meanwhile.
const (
	endWaitingTime = 100 * time.Millisecond
	endWaitingLook = 5 * time.Millisecond
)

// endWaiting waits until what was waiting when everything was stopped has ended, but not
// for long, and counts what has not.
func (x *Exchange) endWaiting(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, endWaitingTime)
	defer cancel()
	look := time.NewTicker(endWaitingLook)
	defer look.Stop()
	for {
		left := x.stopLeft()
		if left == 0 {
			return 0
		}
		select {
		case <-ctx.Done():
			return left
		case <-look.C:
		}
	}
}

// stopLeft counts the threads that a stop of everything has yet to end.
func (x *Exchange) stopLeft() (n uint64) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	w := x.world(x.now())
	x.open.round++
	for _, set := range x.open.pending {
		for _, l := range set {
			if l.round != x.open.round && w.stopEnds(&l.env) {
				l.round = x.open.round
				n++
			}
		}
	}
	return n
}
