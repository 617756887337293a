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

// Drain is the last order to an executor to take nothing new, or the end of one that it has
// not confirmed.
type Drain struct {
	On   bool            `json:"on"` // it takes nothing new; false: the end of that
	Hold mess.DrainOrder `json:"hold"`
	// Elsewhere is an order that the executor was given at its broker, and has reported here.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

func (r *Registry) readDrains(d *draft) error {
	for id, doc := range r.docs.Take(drainKind) {
		o := d.Orders(id)
		o.Drain = &Drain{}
		if err := json.Unmarshal(doc, o.Drain); err != nil {
			r.cfg.Log.Error("a hold cannot be read, and counts as one", "executor", id, "err", err)
			o.Drain = &Drain{On: true, Hold: mess.DrainOrder{ID: "unreadable", By: thread.Self, Reason: "a hold whose reason cannot be read", At: mess.TimeOf(r.cfg.Now())}}
		}
		d.setOrders(id, o)
	}
	return nil
}

// Drain gives an order to drain, or its end, to the executors that it names, or to all that
// it can be for. It returns the executors to which it applies.
func (r *Registry) Drain(ctx context.Context, who thread.Actor, o Drain) (given []string, err error) {
	var ordered []string
	err = r.change(func(d *draft) error {
		if given, ordered, err = d.toDrain(who, o.Hold.Executors, o.On); err != nil {
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

// toDrain returns the executors that an order is for, and among them those whose last order it
// becomes.
func (d *draft) toDrain(who thread.Actor, names mess.Refs, on bool) (given, ordered []string, err error) {
	ids := []string(names)
	if len(ids) == 0 {
		for _, e := range d.Table.All() {
			ids = append(ids, e.ID)
		}
	}
	for _, id := range ids {
		e, o := d.Executor(id), d.Orders(id)
		isOn := o.Drain != nil && o.Drain.On
		own := who.Has(thread.Operator) || isOn && o.Drain.Hold.By == who.ID
		switch {
		case e == nil || e.Deregistered:
			return nil, nil, mess.Errorf(mess.MissingReference, "executors: %q is not registered; leave the list out for all", id)
		case on && isOn && !own: // it is so already, and not this one's to end
			given = append(given, id)
			continue
		case !on && !own && o.IsDrained() && len(names) > 0:
			return nil, nil, mess.Errorf(mess.Forbidden, "config.resume: %s is %s; who has said that can end it, or an operator", id, o.WhyDrained())
		case !on && !own, !on && !o.IsDrained() && len(names) == 0:
			continue // it takes what comes, or is not this one's to ask
		}
		given, ordered = append(given, id), append(ordered, id)
	}
	return given, ordered, nil
}

// drain gives one executor an order; who else gets it is none of its business.
func (d *draft) drain(id string, drain Drain) {
	drain.Hold.Executors = nil
	o := d.Orders(id)
	o.Drain = &drain
	d.setOrders(id, o)
	d.changes.add(id)
	d.tell(id, drain.event())
}

func (d *Drain) event() thread.Event {
	hold, resume := d.Words()
	return thread.Event{Kind: thread.EventHold, Message: mess.Message{From: thread.Self, Received: d.Hold.At, Items: []mess.Item{&mess.Config{Drain: hold, Resume: resume}}}}
}

// Words are an order as a message has it: one of the two is nil, both for no order.
func (d *Drain) Words() (hold, resume *mess.DrainOrder) {
	switch {
	case d == nil:
		return nil, nil
	case d.On:
		return &d.Hold, nil
	}
	return nil, &d.Hold
}

// IsDrained reports whether an executor is offered nothing new: by the last order that went
// through here, or by its own report where there is none.
func (o Orders) IsDrained() bool {
	if o.Drain != nil {
		return o.Drain.On
	}
	return o.OnHold != nil && o.OnHold.Reason != ""
}

// WhyDrained is why it is offered nothing new, "" if it is.
func (o Orders) WhyDrained() string {
	switch {
	case !o.IsDrained():
		return ""
	case o.Drain == nil:
		return "on hold: " + o.OnHold.Reason
	case o.Drain.Hold.Reason == "":
		return "on hold by " + o.Drain.Hold.By
	}
	return "on hold by " + o.Drain.Hold.By + ": " + o.Drain.Hold.Reason
}

// Unheard is the last order, hold or resume, that an executor has not confirmed by what it
// reports now; both are nil if there is none.
func (o Orders) Unheard(c mess.Executor) (hold, resume *mess.DrainOrder) {
	if o.Drain == nil || c.Held != nil && slices.Contains(c.Held.Orders, o.Drain.Hold.ID) {
		return nil, nil
	}
	return o.Drain.Words()
}

// reportsDrain takes what an executor reports of drains, and reports whether an order of ours
// has changed by it. What was given or ended at its broker is an order of ours from then on,
// so that its next process gets it as well.
func (r *Registry) reportsDrain(d *draft, c mess.Executor) (changed bool) {
	o := d.Orders(c.ID)
	was, last := o.WhyDrained(), o.Drain
	o.OnHold = c.Held
	confirmed := last != nil && slices.Contains(c.Held.Orders, last.Hold.ID)
	changed = true
	switch {
	case confirmed && (!last.On || c.Held.Reason == ""):
		o.Drain = nil
	case c.Held.Reason != "" && (last == nil || !last.On && last.Elsewhere && len(c.Held.Orders) == 0):
		o.Drain = r.givenElsewhere(c)
	case c.Held.Reason == "" && last != nil && last.On && last.Elsewhere && !confirmed && (c.Instance == "" || IsHeartbeat(c)):
		// It was ended there before the executor, which has not begun anew, knew it as
		// an order of ours. That may be on its way still, and so is the end.
		o.Drain = &Drain{Elsewhere: true, Hold: mess.DrainOrder{ID: rand.Text(), By: last.Hold.By, At: mess.TimeOf(r.cfg.Now())}}
	default:
		changed = false
	}
	d.setOrders(c.ID, o)
	if o.WhyDrained() != was {
		d.changes.add(c.ID)
		d.news = true
	}
	return changed
}

// IsHeartbeat reports whether c says nothing about what the executor is.
func IsHeartbeat(c mess.Executor) bool {
	return c.Name == "" && c.Capabilities == nil && c.Availability == "" && c.Schedule == "" && c.Versions == nil && len(c.Extra) == 0
}

// reasonBy is before who has given a hold, in the words of an executor of ours.
const reasonBy = ", by "

// givenElsewhere makes an order of a hold that an executor was given at its broker. By whom,
// it says at the end of its reason.
func (r *Registry) givenElsewhere(c mess.Executor) *Drain {
	why, by := c.Held.Reason, c.ID
	if i := strings.LastIndex(why, reasonBy); i >= 0 && mess.ValidID(why[i+len(reasonBy):]) {
		why, by = why[:i], why[i+len(reasonBy):]
	}
	r.cfg.Log.Info("hold that was given elsewhere", "actor", by, "executors", c.ID, "why", why)
	return &Drain{On: true, Elsewhere: true, Hold: mess.DrainOrder{ID: rand.Text(), Reason: CutReason(why), By: by, At: mess.TimeOf(r.cfg.Now())}}
}

// CutReason shortens the reason of an order to what is kept.
func CutReason(why string) string {
	return strings.ToValidUTF8(why[:min(len(why), MaxReason)], "")
}
