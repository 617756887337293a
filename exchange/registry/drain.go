package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Drain is the last drain order of an executor, or the end of one that the executor has not
// confirmed.
type Drain struct {
	On    bool            `json:"on"` // true: it takes nothing new; false: the end of that
	Order mess.DrainOrder `json:"hold"`
	// Elsewhere marks an order that the executor got over its own broker and has reported.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

func (r *Registry) readDrains(d *draft) error {
	for id, doc := range r.docs.Take(drainKind) {
		o := d.Orders(id)
		o.Drain = &Drain{}
		if err := json.Unmarshal(doc, o.Drain); err != nil {
			r.cfg.Log.Error("the registry cannot read a drain order, and keeps the executor drained", "executor", id, "err", err)
			o.Drain = &Drain{On: true, Order: mess.DrainOrder{ID: "unreadable", By: thread.Self, Reason: "a drain order with an unreadable reason", At: mess.TimeOf(r.cfg.Now())}}
		}
		d.setOrders(id, o)
	}
	return nil
}

// Drain gives a drain order, or its end, to the executors in it, or to all for which the actor may
// do that. It returns the executors to which the order applies. The error is a *mess.Error or that
// of the store.
func (r *Registry) Drain(ctx context.Context, actor thread.Actor, o Drain) (given []string, err error) {
	var ordered []string
	err = r.change(func(d *draft) error {
		if given, ordered, err = d.toDrain(actor, o.Order.Executors, o.On); err != nil {
			return err
		}
		for _, id := range ordered {
			d.drain(id, o)
		}
		d.news = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return given, r.save(ctx, keysOf(drainKind, ordered)...)
}

// toDrain returns the executors to which an order applies, and among them those whose last order it
// becomes.
func (d *draft) toDrain(actor thread.Actor, names mess.Refs, on bool) (given, ordered []string, err error) {
	ids := []string(names)
	if len(ids) == 0 {
		for _, e := range d.Table.All() {
			ids = append(ids, e.ID)
		}
	}
	for _, id := range ids {
		e, o := d.Executor(id), d.Orders(id)
		isOn := o.Drain != nil && o.Drain.On
		own := actor.Has(thread.Operator) || isOn && o.Drain.Order.By == actor.ID
		switch {
		case e == nil || e.Deregistered:
			return nil, nil, mess.Errorf(mess.MissingReference, "executors: unknown executor %q; leave the list out for all", id)
		case on && isOn && !own: // the order of another actor is in force
			given = append(given, id)
			continue
		case !on && !own && o.IsDrained() && len(names) > 0:
			return nil, nil, mess.Errorf(mess.Forbidden, "config.resume: %s is %s; only its author or an operator can end that", id, o.DrainReason())
		case !on && !own, !on && !o.IsDrained() && len(names) == 0:
			continue // it is not drained, or only others may end that
		}
		given, ordered = append(given, id), append(ordered, id)
	}
	return given, ordered, nil
}

// drain gives an order to one executor. The order that it gets does not name the other executors.
func (d *draft) drain(id string, drain Drain) {
	drain.Order.Executors = nil
	o := d.Orders(id)
	o.Drain = &drain
	d.setOrders(id, o)
	d.changes.add(id)
	d.addEvent(id, drain.event())
}

func (d *Drain) event() thread.Event {
	drain, resume := d.Orders()
	return thread.Event{Kind: thread.EventDrain, Message: mess.Message{From: thread.Self, Received: d.Order.At, Items: []mess.Item{&mess.Config{Drain: drain, Resume: resume}}}}
}

// Orders returns the order in the form of a message. At most one of the two is not nil.
func (d *Drain) Orders() (drain, resume *mess.DrainOrder) {
	switch {
	case d == nil:
		return nil, nil
	case d.On:
		return &d.Order, nil
	}
	return nil, &d.Order
}

// IsDrained reports whether an executor takes nothing new: by its last order, or without one by its
// own report.
func (o Orders) IsDrained() bool {
	if o.Drain != nil {
		return o.Drain.On
	}
	return o.DrainReport != nil && o.DrainReport.Reason != ""
}

// DrainReason returns why an executor gets no offers, or "" if it gets offers.
func (o Orders) DrainReason() string {
	switch {
	case !o.IsDrained():
		return ""
	case o.Drain == nil:
		return "drained: " + o.DrainReport.Reason
	case o.Drain.Order.Reason == "":
		return "drained by " + o.Drain.Order.By
	}
	return "drained by " + o.Drain.Order.By + ": " + o.Drain.Order.Reason
}

// UnconfirmedDrain returns the last order of an executor if its present report does not confirm it.
// At most one of the two is not nil.
func (o Orders) UnconfirmedDrain(c mess.Executor) (drain, resume *mess.DrainOrder) {
	if o.Drain == nil || c.Drained != nil && slices.Contains(c.Drained.Orders, o.Drain.Order.ID) {
		return nil, nil
	}
	return o.Drain.Orders()
}

// reportsDrain takes the report of an executor about its drain, and reports whether the stored
// order has changed. It also stores an order that the executor got over its broker, or the end of
// one, so that the next process of the executor gets it.
func (r *Registry) reportsDrain(d *draft, c mess.Executor) (changed bool) {
	o := d.Orders(c.ID)
	was, last := o.DrainReason(), o.Drain
	o.DrainReport = c.Drained
	confirmed := last != nil && slices.Contains(c.Drained.Orders, last.Order.ID)
	changed = true
	switch {
	case confirmed && (!last.On || c.Drained.Reason == ""):
		o.Drain = nil
	case c.Drained.Reason != "" && (last == nil || !last.On && last.Elsewhere && len(c.Drained.Orders) == 0):
		o.Drain = r.givenElsewhere(c)
	case c.Drained.Reason == "" && last != nil && last.On && last.Elsewhere && !confirmed && (c.Instance == "" || IsHeartbeat(c)):
		// The order has ended there before the executor got it from here. The order may still be on
		// its way, so its end must be stored too.
		o.Drain = &Drain{Elsewhere: true, Order: mess.DrainOrder{ID: rand.Text(), By: last.Order.By, At: mess.TimeOf(r.cfg.Now())}}
	default:
		changed = false
	}
	d.setOrders(c.ID, o)
	if o.DrainReason() != was {
		d.changes.add(c.ID)
		d.news = true
	}
	return changed
}

// IsHeartbeat reports whether c contains only a heartbeat and no change of the registration.
func IsHeartbeat(c mess.Executor) bool {
	return c.Name == "" && c.Capabilities == nil && c.Availability == "" && c.Schedule == "" && c.Versions == nil && len(c.Extra) == 0
}

// reasonBy precedes the author of a drain order in the report of a messkit executor.
const reasonBy = ", by "

// givenElsewhere makes an order from the report of a drain over the broker of the executor. The end
// of the reason names the author.
func (r *Registry) givenElsewhere(c mess.Executor) *Drain {
	reason, by := c.Drained.Reason, c.ID
	if i := strings.LastIndex(reason, reasonBy); i >= 0 && mess.ValidID(reason[i+len(reasonBy):]) {
		reason, by = reason[:i], reason[i+len(reasonBy):]
	}
	r.cfg.Log.Info("drain order from another broker", "actor", by, "executors", c.ID, "why", reason)
	return &Drain{On: true, Elsewhere: true, Order: mess.DrainOrder{ID: rand.Text(), Reason: CutReason(reason), By: by, At: mess.TimeOf(r.cfg.Now())}}
}

// CutReason cuts the reason of an order to MaxReason bytes.
func CutReason(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), MaxReason)], "")
}
