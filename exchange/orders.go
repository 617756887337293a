package exchange

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
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
		return mess.Stop{}, x.storeError(err)
	}
	if everybody {
		s.Ending = x.awaitStopped(ctx)
	}
	now := x.registry.Snapshot()
	s.Executors = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return now.Executor(id).Deregistered })
	x.log.Warn("stop", "actor", who.ID, "executors", len(ids), "err", s.Reason)
	return s, nil
}

// startedCodes are the statuses in which somebody's hands may be at a thread.
var startedCodes = []mess.Code{mess.Claimed, mess.InProgress, mess.Waiting, mess.Held, mess.Retrying}

// reportPersonStopped writes into the threads that a person holds that she has stopped, which
// of a robot its reports say.
func (x *Exchange) reportPersonStopped(ctx context.Context, id string) error {
	e := x.registry.Snapshot().Executor(id)
	if e == nil || !e.Person {
		return nil
	}
	name := cmp.Or(e.Name, id)
	for _, ref := range x.open.heldRefs(id) {
		_, err := x.step(ctx, ref, func(env Envelope) transition.Input {
			if env.Holder() != id || !slices.Contains(startedCodes, env.Status) {
				return x.ownInput(env, nil)
			}
			return x.ownInput(env, func(*Envelope) *mess.Status {
				return &mess.Status{Code: env.Status, Executor: id, Message: name + " says: I have stopped"}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isEndedByStop reports whether a stop of everything ends a thread that waits, or leaves it
// to people.
func (w world) isEndedByStop(e *Envelope) bool {
	return e.Status == mess.Pending && !e.Stopped && w.s.StopAll.Covers(e)
}

// stopChange is how it does so: what people may do stays offered to them alone, and the
// rest ends.
func (w world) stopChange(e Envelope) transition.Change {
	for range w.request(&e).People() {
		return transition.LeaveToPeople(w.s.StopAll.Stop)
	}
	return transition.FailStopped(w.s.StopAll.Stop)
}

// How long who stops everything waits for what waited to end, and how often he looks.
// Run ends it, and goes on with the rest; nothing of it can begin meanwhile.
const (
	stopWaitTime     = 100 * time.Millisecond
	stopWaitInterval = 5 * time.Millisecond
)

// awaitStopped waits until what was waiting when everything was stopped has ended, but not
// for long, and counts what has not.
func (x *Exchange) awaitStopped(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, stopWaitTime)
	defer cancel()
	look := time.NewTicker(stopWaitInterval)
	defer look.Stop()
	for {
		left := x.countStopped()
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

// countStopped counts the threads that a stop of everything has yet to end.
func (x *Exchange) countStopped() (n uint64) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	w := x.world(x.now())
	x.open.round++
	for _, set := range x.open.pending {
		for _, l := range set {
			if l.round != x.open.round && w.isEndedByStop(&l.env) {
				l.round = x.open.round
				n++
			}
		}
	}
	return n
}

// Drain has executors take nothing new: those that it names, or all that are
// registered. What they have claimed goes on. It lasts over restarts, until
// Resume. Where it is on hold already, the hold of an operator stays.
func (x *Exchange) Drain(ctx context.Context, who Actor, h mess.DrainOrder) (mess.DrainOrder, error) {
	return x.drain(ctx, who, "hold", h)
}

// Resume ends the holds of the executors that it names, or all that who may end:
// an operator every one, others their own.
func (x *Exchange) Resume(ctx context.Context, who Actor, h mess.DrainOrder) (mess.DrainOrder, error) {
	return x.drain(ctx, who, "resume", h)
}

func (x *Exchange) drain(ctx context.Context, who Actor, verb string, h mess.DrainOrder) (mess.DrainOrder, error) {
	if err := mayOrder(who, verb); err != nil {
		return mess.DrainOrder{}, err
	}
	if len(h.Reason) > registry.MaxReason {
		return mess.DrainOrder{}, mess.Errorf(mess.Invalid, "config.%s.why: %d bytes are too long; write at most %d", verb, len(h.Reason), registry.MaxReason)
	}
	if len(h.Extra) > 0 { // a slip in executors would mean all of them
		return mess.DrainOrder{}, mess.Errorf(mess.Invalid, "config.%s.%.60s: is not known here; write why and executors, or leave them out", verb, h.Extra[0].Key)
	}
	h.ID, h.By, h.At = rand.Text(), who.ID, mess.TimeOf(x.now())
	given, err := x.registry.Drain(ctx, who, registry.Drain{On: verb == "hold", Hold: h})
	if err != nil {
		return mess.DrainOrder{}, x.storeError(err)
	}
	if h.Executors = given; len(given) > 0 {
		x.log.Info(verb, "actor", who.ID, "executors", strings.Join(given, " "), "why", h.Reason)
	}
	return h, nil
}

// drainedCandidate tells of one that could take a thread and is drained, the one that would
// be asked first; "" if none is.
func (w world) drainedCandidate(env Envelope) string {
	r := w.request(&env)
	rank := r.Rank()
	byRank := func(a, b *routing.Executor) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.ID, b.ID)) }
	for _, e := range slices.SortedFunc(r.Candidates(), byRank) {
		if why := w.s.Orders(e.ID).WhyDrained(); why != "" {
			return cmp.Or(e.Name, e.ID) + " is " + why
		}
	}
	return ""
}
