package exchange

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

const holdKind = "hold"

// holdOrder is the last hold of an executor, or its end where that is not
// confirmed.
type holdOrder struct {
	On   bool      `json:"on"` // a hold, not the end of one
	Hold mess.Hold `json:"hold"`
	// Elsewhere is an order that the executor was given at its broker, and has told
	// of here.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

func (x *Exchange) readHolds(ctx context.Context) error {
	docs, err := x.docs.Docs(ctx, holdKind)
	if err != nil {
		return err
	}
	for id, doc := range docs {
		var o holdOrder
		if err := json.Unmarshal(doc, &o); err != nil {
			x.log.Error("a hold cannot be read, and counts as one", "executor", id, "err", err)
			o = holdOrder{On: true, Hold: mess.Hold{ID: "unreadable", By: Self, Why: "a hold whose reason cannot be read", At: mess.TimeOf(x.now())}}
		}
		x.holds[id] = o
	}
	return nil
}

// Hold has executors take nothing new: those that it names, or all that are
// registered. What they have claimed goes on. It lasts over restarts, until
// Resume. Where it is on hold already, the hold of an operator stays.
func (x *Exchange) Hold(ctx context.Context, who Actor, h mess.Hold) (mess.Hold, error) {
	return x.order(ctx, who, h, true)
}

// Resume ends the holds of the executors that it names, or all that who may end:
// an operator every one, others their own.
func (x *Exchange) Resume(ctx context.Context, who Actor, h mess.Hold) (mess.Hold, error) {
	return x.order(ctx, who, h, false)
}

func (x *Exchange) order(ctx context.Context, who Actor, h mess.Hold, on bool) (mess.Hold, error) {
	verb := "resume"
	if on {
		verb = holdKind
	}
	if err := mayOrder(who, verb); err != nil {
		return mess.Hold{}, err
	}
	if len(h.Why) > maxReason {
		return mess.Hold{}, mess.Refuse(mess.Invalid, "config.%s.why: %d bytes are too long; write at most %d", verb, len(h.Why), maxReason)
	}
	if len(h.Extra) > 0 { // a slip in executors would mean all of them
		return mess.Hold{}, mess.Refuse(mess.Invalid, "config.%s.%.60s: is not known here; write why and executors, or leave them out", verb, h.Extra[0].Key)
	}
	h.ID, h.By, h.At = rand.Text(), who.ID, mess.TimeOf(x.now())
	given, orders, err := x.passHolds(who, holdOrder{On: on, Hold: h})
	if err != nil {
		return mess.Hold{}, err
	}
	x.renew()
	var g errgroup.Group
	g.SetLimit(manyWrites)
	for _, id := range orders {
		g.Go(func() error { return x.keepHold(ctx, id) })
	}
	if err := g.Wait(); err != nil {
		return mess.Hold{}, err
	}
	h.Executors = given
	if len(given) == 0 {
		return h, nil
	}
	x.log.Info(verb, "actor", who.ID, "executors", strings.Join(given, " "), "why", h.Why)
	return h, nil
}

// passHolds gives an order to all whom it is for.
func (x *Exchange) passHolds(who Actor, o holdOrder) (given, orders []string, _ error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	given, orders, err := x.heldBy(who, o.Hold.Executors, o.On)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range orders {
		x.passHold(id, o)
		x.changedExecutor(id)
	}
	x.turned()
	return given, orders, nil
}

// heldBy are the executors that an order is for, and among them those whose last
// order it becomes. x.mu is held.
func (x *Exchange) heldBy(who Actor, names mess.Refs, on bool) (given, orders []string, err error) {
	ids := []string(names)
	if len(ids) == 0 {
		for _, e := range x.table.All() {
			ids = append(ids, e.ID)
		}
	}
	for _, id := range ids {
		o, held := x.holds[id], x.held(id)
		own := who.Has(Operator) || o.On && o.Hold.By == who.ID
		switch {
		case x.executors[id] == nil || x.executors[id].forgotten:
			return nil, nil, mess.Refuse(mess.Missing, "executors: %q is not registered; leave the list out for all", id)
		case on && o.On && !own: // it is so already, and not this one's to end
			given = append(given, id)
			continue
		case !on && !own && held != "" && len(names) > 0:
			return nil, nil, mess.Refuse(mess.Forbidden, "config.resume: %s is %s; who has said that can end it, or an operator", id, held)
		case !on && !own, !on && held == "" && len(names) == 0:
			continue // it takes what comes, or is not this one's to ask
		}
		given, orders = append(given, id), append(orders, id)
	}
	return given, orders, nil
}

// passHold gives one executor an order; who else gets it is none of its
// business. x.mu is held.
func (x *Exchange) passHold(id string, o holdOrder) {
	o.Hold.Executors = nil
	x.holds[id] = o
	x.publish(holdEvent(o), id)
}

func holdEvent(o holdOrder) Event {
	hold, resume := o.words()
	return Event{Kind: EventHold, Message: mess.Message{From: Self, Received: o.Hold.At, Items: []mess.Item{&mess.Config{Hold: hold, Resume: resume}}}}
}

// words are an order as a message has it: one of the two is nil.
func (o holdOrder) words() (hold, resume *mess.Hold) {
	if o.On {
		return &o.Hold, nil
	}
	return nil, &o.Hold
}

// keepHold writes down the last order of an executor.
func (x *Exchange) keepHold(ctx context.Context, id string) error {
	return x.keep(ctx, holdKind, id, func() any {
		if o, ok := x.holds[id]; ok {
			return o
		}
		return nil
	})
}

// held is why an executor is offered nothing, "" if it is: by the last order that
// went through here, or by its own word where there is none. x.mu is held.
func (x *Exchange) held(id string) string {
	if o, ok := x.holds[id]; ok {
		if !o.On {
			return ""
		}
		return "on hold by " + o.Hold.By + because(o.Hold.Why)
	}
	if h := x.onHold[id]; h != nil && h.Why != "" {
		return "on hold: " + h.Why
	}
	return ""
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// standsHeld takes what an executor says about holds. What was given or ended at
// its broker is an order of ours from then on, so that its next process hears of it
// as well.
func (x *Exchange) standsHeld(ctx context.Context, c mess.Executor) error {
	if c.Held == nil {
		return nil
	}
	changed := x.hears(c)
	if x.renew(); !changed {
		return nil
	}
	return x.keepHold(ctx, c.ID)
}

// hears takes that, and reports whether an order of ours has changed by it.
func (x *Exchange) hears(c mess.Executor) (changed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.held(c.ID)
	x.onHold[c.ID] = c.Held
	o, ok := x.holds[c.ID]
	confirmed := ok && slices.Contains(c.Held.Orders, o.Hold.ID)
	changed = true
	switch {
	case confirmed && (!o.On || c.Held.Why == ""):
		delete(x.holds, c.ID)
	case c.Held.Why != "" && (!ok || !o.On && o.Elsewhere && len(c.Held.Orders) == 0):
		x.holds[c.ID] = x.givenElsewhere(c)
	case c.Held.Why == "" && o.On && o.Elsewhere && !confirmed && (c.Instance == "" || isHeartbeat(c)):
		// It was ended there before the executor, which has not begun anew, knew it as
		// an order of ours. That may be on its way still, and so is the end.
		x.holds[c.ID] = holdOrder{Elsewhere: true, Hold: mess.Hold{ID: rand.Text(), By: o.Hold.By, At: mess.TimeOf(x.now())}}
	default:
		changed = false
	}
	if x.held(c.ID) != was {
		x.changedExecutor(c.ID)
		x.turned()
	}
	return changed
}

// saysBy is before who has given a hold, in the words of an executor of ours.
const saysBy = ", by "

// givenElsewhere makes an order of a hold that an executor was given at its
// broker, so that its next process is told of it as well. By whom, it says at the
// end of its reason. x.mu is held.
func (x *Exchange) givenElsewhere(c mess.Executor) holdOrder {
	why, by := c.Held.Why, c.ID
	if i := strings.LastIndex(why, saysBy); i >= 0 && mess.ValidID(why[i+len(saysBy):]) {
		why, by = why[:i], why[i+len(saysBy):]
	}
	x.log.Info("hold that was given elsewhere", "actor", by, "executors", c.ID, "why", why)
	return holdOrder{On: true, Elsewhere: true, Hold: mess.Hold{ID: rand.Text(), Why: cutReason(why), By: by, At: mess.TimeOf(x.now())}}
}

// unheard is the last order, hold or resume, that an executor has not confirmed
// by what it says now; both are nil if there is none.
func (x *Exchange) unheard(c mess.Executor) (hold, resume *mess.Hold) {
	x.mu.Lock()
	defer x.mu.Unlock()
	o, ok := x.holds[c.ID]
	if !ok || c.Held != nil && slices.Contains(c.Held.Orders, o.Hold.ID) {
		return nil, nil
	}
	return o.words()
}

// standingHold is the last order as an event, if there is one.
func (x *Exchange) standingHold(id string) []Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o, ok := x.holds[id]; ok {
		return []Event{holdEvent(o)}
	}
	return nil
}

// heldOf tells of one that could take a thread and is on hold, the one that would
// be asked first; "" if none is. x.mu is held.
func (x *Exchange) heldOf(env Envelope) string {
	r := x.request(&env, x.now())
	rank := r.Rank()
	byRank := func(a, b *routing.Executor) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.ID, b.ID)) }
	for _, e := range slices.SortedFunc(r.Candidates(), byRank) {
		if why := x.held(e.ID); why != "" {
			return cmp.Or(e.Name, e.ID) + " is " + why
		}
	}
	return ""
}
