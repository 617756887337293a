package agent

import (
	"context"
	"errors"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// decline declines a thread without a claim.
func (t *task) decline(ctx context.Context, reason string) error {
	return t.declineFor(ctx, mess.Reason{Detail: reason})
}

// declineFor declines a thread with a typed reason.
func (t *task) declineFor(ctx context.Context, why mess.Reason) error {
	reason := why.Detail
	if reason == "" {
		return nil
	}
	s := &mess.Status{Code: mess.Declined, Instance: t.boot, Reason: &why}
	_, err := t.session.say(ctx, t.signed(t.message(s)))
	if err != nil {
		return err
	}
	t.log.Info("declined", "ref", t.ref, "intent", t.req.Intent, "err", reason)
	return errDeclined
}

var errDeclined = errors.New("declined")

// claim claims the thread, unless another executor has it.
func (t *task) claim(ctx context.Context, p *capabilities.Plan) error {
	s := &mess.Status{Code: mess.Claimed, Instance: t.boot}
	if p != nil {
		s.Estimate = mess.DurationOf(t.activity.estimate(*p))
	}
	t.tried = true
	ack, err := t.session.say(ctx, t.message(s))
	if err != nil {
		return err
	}
	if ack.Epoch == 0 {
		return errLost
	}
	t.table.mu.Lock()
	t.holds(ack.Epoch)
	t.session.keep(ack.Lease)
	t.table.mu.Unlock()
	t.log.Info("claimed", "ref", t.ref, "intent", t.req.Intent)
	return nil
}

// claimed returns the epoch of the claim, 0 if there is none.
func (t *task) claimed() uint64 {
	t.table.mu.Lock()
	defer t.table.mu.Unlock()
	return t.epoch
}

// message returns a message of this thread under its claim.
func (t *task) message(items ...mess.Item) mess.Message {
	t.table.mu.Lock()
	defer t.table.mu.Unlock()
	return mess.Message{ID: t.session.nextID(), Re: mess.Refs{t.ref}, Epoch: t.epoch, Items: items}
}
