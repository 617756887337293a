package task

import (
	"context"
	"errors"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

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
		s.Estimate = mess.DurationOf(t.Activity.Estimate(*p))
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
