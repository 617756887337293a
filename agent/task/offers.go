package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// offer is a waiting thread. Thousands may wait, so it is small: the request stays JSON until
// work begins, and the inbox does not exist before the claim.
type offer struct {
	ref     string
	by      string // the requester
	request string // as JSON
	trace   string // its trace context, or ""
	rank    int
	serial  uint64 // order of arrival
	// Neighbors in the ring of its requester and rank.
	before, after *offer
}

// newOffer returns an offer of a thread.
func newOffer(ref, by, trace string, req mess.Request) *offer {
	text, _ := req.MarshalJSON() // it never fails
	return &offer{ref: ref, by: by, trace: trace, request: string(text), rank: rank(req)}
}

// rank returns the priority of a request among the waiting ones.
func rank(req mess.Request) int {
	var urgency mess.Urgency
	if c := req.Constraints; c != nil && c.Timing != nil {
		urgency = c.Timing.Urgency
	}
	return mess.Rank(req.Priority, urgency)
}

// task returns the task that works on an offer.
func (o *offer) task(ts *Tasks) (*task, error) {
	var req mess.Request
	if err := req.UnmarshalJSON([]byte(o.request)); err != nil {
		return nil, fmt.Errorf("the agent cannot read the request of %s again: %w", o.ref, err)
	}
	t := newTask(ts, o.ref, o.by, req)
	t.trace = o.trace
	return t, nil
}

// offers holds the waiting threads. Tasks.mu guards it.
type offers struct {
	refs    map[string]*offer
	queues  map[string]map[int]*offer // the first of each ring, by requester and rank
	arrived uint64
}

// add puts an offer at the end of its ring. It ignores a thread that already waits.
func (w *offers) add(o *offer) {
	if w.refs[o.ref] != nil {
		return
	}
	if w.refs == nil {
		w.refs, w.queues = map[string]*offer{}, map[string]map[int]*offer{}
	}
	if w.queues[o.by] == nil {
		w.queues[o.by] = map[int]*offer{}
	}
	w.refs[o.ref] = o
	w.arrived++
	o.serial = w.arrived
	first := w.queues[o.by][o.rank]
	if first == nil {
		o.before, o.after = o, o
		w.queues[o.by][o.rank] = o
		return
	}
	o.before, o.after = first.before, first
	o.before.after, o.after.before = o, o
}

// next removes and returns the oldest offer of the highest rank, among the requesters for which
// may returns true. It returns nil if there is none.
func (w *offers) next(may func(by string) bool) *offer {
	var best *offer
	for by, queues := range w.queues {
		if !may(by) {
			continue
		}
		for _, o := range queues {
			if best == nil || o.rank > best.rank || o.rank == best.rank && o.serial < best.serial {
				best = o
			}
		}
	}
	if best != nil {
		w.drop(best.ref)
	}
	return best
}

// drop removes the offer of a thread, if it waits.
func (w *offers) drop(ref string) {
	o := w.refs[ref]
	if o == nil {
		return
	}
	delete(w.refs, ref)
	queues := w.queues[o.by]
	switch {
	case o.after == o:
		if delete(queues, o.rank); len(queues) == 0 {
			delete(w.queues, o.by)
		}
	case queues[o.rank] == o:
		queues[o.rank] = o.after
	}
	o.before.after, o.after.before = o.after, o.before
	o.before, o.after = nil, nil
}

// decline declines a thread without a claim.
func (t *task) decline(ctx context.Context, reason string) error {
	return t.declineFor(ctx, mess.Reason{Detail: reason})
}

// declineFor declines a thread with a typed reason.
func (t *task) declineFor(ctx context.Context, reason mess.Reason) error {
	if reason.Detail == "" {
		return nil
	}
	s := &mess.Status{Code: mess.Declined, Instance: t.instance, Reason: &reason}
	_, err := t.Session.Say(ctx, t.signed(t.message(s)))
	if err != nil {
		return err
	}
	t.Log.Info("declined", "ref", t.ref, "intent", t.req.Intent, "err", reason.Detail)
	return errDeclined
}

var errDeclined = errors.New("declined")

// claim claims the thread, unless another executor has it.
func (t *task) claim(ctx context.Context, p *capabilities.Plan) error {
	s := &mess.Status{Code: mess.Claimed, Instance: t.instance}
	if p != nil {
		s.Estimate, s.Extra = mess.DurationOf(t.Activity.Estimate(*p)), usesOf(*p)
	}
	t.claimSent = true
	ack, err := t.Session.Say(ctx, t.message(s))
	if err != nil {
		return err
	}
	if ack.Epoch == 0 {
		return runtime.ErrLost
	}
	t.all.mu.Lock()
	t.setClaim(ack.Epoch)
	t.Session.KeepLease(ack.Lease)
	t.all.mu.Unlock()
	t.Log.Info("claimed", "ref", t.ref, "intent", t.req.Intent)
	return nil
}

// maxUses limits the devices that a claim names.
const maxUses = 16

// usesOf returns the field of a status that names the devices of a plan with their capabilities, so
// that the exchange shows a thread at its devices.
func usesOf(p capabilities.Plan) mess.Object {
	steps := p.Each()
	uses := make([]any, min(len(steps), maxUses))
	for i := range uses {
		uses[i] = mess.Object{{Key: "device", Value: steps[i].Device}, {Key: "capability", Value: steps[i].Capability}}
	}
	return mess.Object{{Key: mess.UsesField, Value: uses}}
}

// claimed returns the epoch of the claim, 0 if there is none.
func (t *task) claimed() uint64 {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	return t.epoch
}

// message returns a message of this thread under its claim.
func (t *task) message(items ...mess.Item) mess.Message {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	return mess.Message{ID: t.Session.NextID(), Re: mess.Refs{t.ref}, Epoch: t.epoch, Items: items}
}
