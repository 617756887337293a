package mqtt

import (
	"context"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/mess"
)

// retainedState is a thread whose state is at the broker.
type retainedState struct {
	requestor string
	clear     time.Time // when it is cleared; zero while it has not ended
}

// maxFound bounds how many states of threads that the exchange does not have stay at the
// broker for a while.
const maxFound = 10_000

// publishStates keeps the states of threads at the broker until ctx ends.
func (d *Adapter) publishStates(ctx context.Context, to publisher) error {
	who := exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}
	inbox.Events(ctx, d.x, who, inbox.OnlyNew, d.log, func(e exchange.Event) error {
		switch e.Kind {
		case exchange.EventReset:
			return d.publishAllStates(ctx, to, who)
		case exchange.EventMessage:
			if err := d.publishState(ctx, to, e.Thread); err != nil {
				return err
			}
			d.observer.Message(e.Thread, e.Message, true)
		}
		return nil
	})
	return nil
}

// publishAllStates shows what is open, the newest first, and what has ended lately.
func (d *Adapter) publishAllStates(ctx context.Context, to publisher, who exchange.Actor) error {
	f := exchange.Filter{Status: exchange.OpenCodes(), Limit: 1000}
	for {
		page, err := d.x.List(ctx, who, f)
		if err != nil {
			return err
		}
		for _, e := range page.Threads {
			if err := d.publishState(ctx, to, e); err != nil {
				return err
			}
			d.observer.Thread(ctx, e)
		}
		if f.Cursor = page.Cursor; f.Cursor == "" {
			break
		}
	}
	d.mu.Lock()
	var open []string
	for ref, r := range d.states {
		if r.clear.IsZero() {
			open = append(open, ref)
		}
	}
	d.mu.Unlock()
	for _, ref := range open { // one may have ended while nobody looked
		if t, err := d.x.Thread(ctx, who, ref); err == nil && t.Status.Terminal() {
			if err := d.publishState(ctx, to, t.Envelope); err != nil {
				return err
			}
			d.observer.Message(t.Envelope, t.Messages[len(t.Messages)-1], false)
		}
	}
	return nil
}

// publishState publishes how a thread stands.
func (d *Adapter) publishState(ctx context.Context, to publisher, e exchange.Envelope) error {
	d.recordState(e)
	text, err := envelopeObject(e).MarshalJSON()
	if err != nil {
		return err
	}
	return to.publish(ctx, outgoing{topic: d.root.State(e.Ref), payload: text, retain: true})
}

// recordState remembers whose thread it is, and when its state is cleared.
func (d *Adapter) recordState(e exchange.Envelope) {
	r := &retainedState{requestor: e.Requestor}
	if e.Status.Terminal() {
		r.clear = e.Updated.Add(d.cfg.Keep)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states[e.Ref] = r
}

// envelopeObject is the envelope of a thread, with the words of MESSE-AF 2.1 ("Envelope
// Fields").
func envelopeObject(e exchange.Envelope) mess.Object {
	o := mess.Object{{Key: "ref", Value: e.Ref}}
	add := func(key, value string) {
		if value != "" {
			o = append(o, mess.Field{Key: key, Value: value})
		}
	}
	add("client_id", e.ClientID)
	add("requestor", e.Requestor)
	add("executor", e.Executor)
	add("status", string(e.Status))
	add("created", string(mess.TimeOf(e.Created)))
	add("updated", string(mess.TimeOf(e.Updated)))
	add("expires", string(mess.TimeOf(e.Expires)))
	add("intent", e.Intent)
	add("priority", string(e.Priority))
	return append(o, mess.Field{Key: "ver", Value: e.Ver})
}

// adoptState takes a state that an earlier run of the exchange has left at a broker
// elsewhere, and has it cleared if it has had its time.
func (d *Adapter) adoptState(ctx context.Context, ref string, in inbound) {
	if !in.retain || len(in.payload) == 0 {
		return // our own word
	}
	d.mu.Lock()
	known, room := d.states[ref] != nil, len(d.states) < maxFound
	d.mu.Unlock()
	switch {
	case known:
	case room || d.envelope(ref).Ref != "":
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.states[ref] == nil {
			d.states[ref] = &retainedState{clear: d.now().Add(d.cfg.Keep)} // one that is open is shown, and stays
		}
	default:
		d.send(ctx, outgoing{topic: in.topic, retain: true})
	}
}

// clearStates clears the states that have had their time.
func (d *Adapter) clearStates(ctx context.Context, to publisher) {
	var over []string
	d.mu.Lock()
	now := d.now()
	for ref, r := range d.states {
		if !r.clear.IsZero() && now.After(r.clear) {
			over = append(over, ref)
		}
	}
	d.mu.Unlock()
	for _, ref := range over {
		if err := to.publish(ctx, outgoing{topic: d.root.State(ref), retain: true}); err != nil {
			d.log.Debug("a state is not cleared yet", "ref", ref, "err", err)
			return
		}
		d.mu.Lock()
		if r := d.states[ref]; r != nil && !r.clear.IsZero() {
			delete(d.states, ref)
		}
		d.mu.Unlock()
	}
}

// requestor is who has requested a thread; "" if there is none.
func (d *Adapter) requestor(ref string) string {
	d.mu.Lock()
	r := d.states[ref]
	d.mu.Unlock()
	if r != nil && r.requestor != "" {
		return r.requestor
	}
	return d.envelope(ref).Requestor
}

// envelope reads the envelope of a thread.
func (d *Adapter) envelope(ref string) exchange.Envelope {
	ctx, cancel := context.WithTimeout(context.Background(), workTime)
	defer cancel()
	t, err := d.x.Thread(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, ref)
	if err != nil || t.Ref != ref {
		return exchange.Envelope{}
	}
	return t.Envelope
}
