package exchange

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
)

const stopKind = "stop"

// maxStops is how many stops wait for one executor; more say the same.
const maxStops = 16

// maxReason is how much of an order's reason is kept, in bytes.
const maxReason = 512

func cutReason(why string) string {
	return strings.ToValidUTF8(why[:min(len(why), maxReason)], "")
}

// mayOrder lets those order executors who may ask for something; item is what
// they have written in a config.
func mayOrder(who Actor, item string) error {
	if who.Has(Requester) || who.Has(Operator) {
		return nil
	}
	return mess.Refuse(mess.Forbidden, "config.%s: %q may not ask for anything here; use a requester's or the operator's key", item, who.ID)
}

func (x *Exchange) readStops(ctx context.Context) error {
	docs, err := x.docs.Docs(ctx, stopKind)
	if err != nil {
		return err
	}
	for id, doc := range docs {
		var list []mess.Stop
		if err := json.Unmarshal(doc, &list); err != nil { // that there is one is all it has to say
			x.log.Error("a stop cannot be read, and is passed on as one", "executor", id, "err", err)
			list = []mess.Stop{{ID: "unreadable-" + rand.Text(), By: Self, Why: "a stop whose reason cannot be read", At: mess.TimeOf(x.now())}}
		}
		x.stops[id] = list
	}
	return nil
}

// Stop orders executors to stop everything: those that it names, or all that
// are registered, but for people who do nothing now. Whoever is here hears it at
// once, before it is on the disk; whoever is away, or was forgotten, hears it when he
// comes back.
// Every door calls this, and none can take it back.
func (x *Exchange) Stop(ctx context.Context, who Actor, s mess.Stop) (mess.Stop, error) {
	if err := mayOrder(who, stopKind); err != nil {
		return mess.Stop{}, err
	}
	everybody := len(s.Executors) == 0
	s.Why = cutReason(s.Why) // a stop is not refused for its words
	s.ID, s.By, s.At, s.Ending = rand.Text(), who.ID, mess.TimeOf(x.now()), 0
	ids, err := x.passAll(s)
	if err != nil {
		return mess.Stop{}, err
	}
	x.renew()
	if err := x.keepAll(ctx, ids, everybody); err != nil {
		return mess.Stop{}, err
	}
	if everybody {
		s.Ending = x.endWaiting(ctx)
	}
	s.Executors = x.notForgotten(ids)
	x.log.Warn("stop", "actor", who.ID, "executors", len(ids), "err", s.Why)
	return s, nil
}

// whatStopped is who has stopped everything, and why.
func whatStopped(s mess.Stop) string {
	if s.Why == "" {
		return s.By + " has stopped everything"
	}
	return fmt.Sprintf("%s has stopped everything (%s)", s.By, s.Why)
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
			Code: mess.Failed, Reason: &mess.Reason{Type: stopKind, Detail: whatStopped(s) + " before anybody began", Effect: effect},
			Recoverable: new(true), Suggestion: "ask anew when it is released",
		}
	}
}

// passAll gives a stop to all whom it is for.
func (x *Exchange) passAll(s mess.Stop) (ids []string, _ error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ids = slices.DeleteFunc(slices.Sorted(maps.Keys(x.executors)), x.idlePerson)
	if len(s.Executors) > 0 {
		for _, id := range s.Executors {
			if x.executors[id] == nil {
				return nil, mess.Refuse(mess.Missing, "config.stop.executors: %q is not registered; leave the list out to stop all", id)
			}
		}
		ids = s.Executors
	}
	if len(s.Executors) == 0 {
		x.all = everything{Count: x.all.Count + 1, Stop: s}
	}
	for _, id := range ids {
		x.pass(id, s)
	}
	x.stale.all = x.stale.all || len(s.Executors) == 0
	x.turned()
	return ids, nil
}

// idlePerson reports whether id is a person who holds no task, and so has nothing
// to stop. x.mu is held.
func (x *Exchange) idlePerson(id string) bool {
	return x.executors[id].Person && len(x.by.held[id]) == 0
}

// notForgotten are those of the executors that are on the lists.
func (x *Exchange) notForgotten(ids []string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return x.executors[id].forgotten })
}

// pass gives one executor a stop; who else gets it is none of its business. x.mu
// is held.
func (x *Exchange) pass(id string, s mess.Stop) {
	s.Executors = nil
	if len(x.stops[id]) < maxStops {
		x.stops[id] = append(slices.Clone(x.stops[id]), s)
	}
	x.publish(stopEvent(s), id)
}

func stopEvent(s mess.Stop) Event {
	return Event{Kind: EventStop, Message: mess.Message{From: Self, Received: s.At, Items: []mess.Item{&mess.Config{Stop: &s}}}}
}

// keepAll writes down what executors have not confirmed, and that everything was stopped.
// What is written at the same time shares syncs of the disk.
func (x *Exchange) keepAll(ctx context.Context, ids []string, everybody bool) error {
	var g errgroup.Group
	g.SetLimit(manyWrites)
	errs := make([]error, len(ids)+1)
	if everybody {
		g.Go(func() error { errs[len(ids)] = x.keepEverything(ctx); return nil })
	}
	for i, id := range ids {
		g.Go(func() error { errs[i] = x.keepStops(ctx, id); return nil })
	}
	_ = g.Wait() // the errors are in errs
	return errors.Join(errs...)
}

// keepStops writes down what one executor has not confirmed.
func (x *Exchange) keepStops(ctx context.Context, id string) error {
	return x.keep(ctx, stopKind, id, func() any {
		if list := x.stops[id]; len(list) > 0 {
			return list
		}
		return nil
	})
}

// keep writes down what an executor was ordered, as it stands when it is written;
// nil forgets it. orders is called with x.mu held.
func (x *Exchange) keep(ctx context.Context, kind, id string, orders func() any) error {
	done, err := x.writing(ctx, kind, id)
	if err != nil {
		return err
	}
	defer done()
	x.mu.Lock()
	now := orders()
	x.mu.Unlock()
	var doc []byte
	if now != nil {
		if doc, err = json.Marshal(now); err != nil {
			return fmt.Errorf("%s for %s: %w", kind, id, err)
		}
	}
	if err := x.docs.Put(ctx, kind, id, doc); err != nil {
		return x.broken(err)
	}
	return nil
}

// stands takes what an executor says about its stop.
func (x *Exchange) stands(ctx context.Context, c mess.Executor) error {
	if c.Stopped == nil {
		return nil
	}
	if !x.confirm(c) {
		return nil
	}
	x.log.Info("stop confirmed", "executor", c.ID)
	if err := x.keepStops(ctx, c.ID); err != nil {
		return err
	}
	return x.hasStopped(ctx, c.ID)
}

// atWork are the statuses in which somebody's hands may be at a thread.
var atWork = []mess.Code{mess.Claimed, mess.InProgress, mess.Waiting, mess.Held, mess.Retrying}

// hasStopped writes into the threads that a person holds that she has stopped, which
// of a robot its reports say.
func (x *Exchange) hasStopped(ctx context.Context, id string) error {
	x.mu.Lock()
	e := x.executors[id]
	var refs []string
	name := id
	if e != nil && e.Person {
		name = cmp.Or(e.Name, id)
		refs = slices.Sorted(maps.Keys(x.by.held[id]))
	}
	x.mu.Unlock()
	for _, ref := range refs {
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

// confirm takes the stops that an executor has confirmed off its list, and reports
// whether there were any.
func (x *Exchange) confirm(c mess.Executor) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopped[c.ID] = c.Stopped
	x.turned()
	left := slices.DeleteFunc(slices.Clone(x.stops[c.ID]), func(s mess.Stop) bool { return slices.Contains(c.Stopped.Orders, s.ID) })
	if len(left) == len(x.stops[c.ID]) {
		return false
	}
	x.stops[c.ID] = left
	return true
}

// unconfirmed lists the stops that an executor has not confirmed.
func (x *Exchange) unconfirmed(id string) []mess.Stop {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stops[id]
}

// standingStops are the same as events.
func (x *Exchange) standingStops(id string) []Event {
	var events []Event
	for _, s := range x.unconfirmed(id) {
		events = append(events, stopEvent(s))
	}
	return events
}
