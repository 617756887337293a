package exchange

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// postToThread makes one step of a thread, or returns an error.
func (x *Exchange) postToThread(ctx context.Context, in Inbound, s threadPost) (mess.Ack, error) {
	ref, err := x.resolve(ctx, in.Actor, s.ref)
	if err != nil {
		return mess.Ack{}, err
	}
	m, code := in.Message, ""
	m.Items, code = takeCode(s.items)
	m.Re = mess.Refs{ref}
	if strings.HasPrefix(s.ref, ref+"/") {
		m.Re = mess.Refs{s.ref}
	}
	proven, back := x.confirmationProof(in, code)
	ack, err := x.step(ctx, ref, func(env Envelope) transition.Input {
		i := x.input(in.Actor, in.Channel, m)
		i.ByLast, i.Proven, i.Unseen = s.ref == mess.Last, proven, !x.mayKnow(in.Actor, env, m.Items)
		if suggestion := env.Suggestion(s.ref); suggestion != "" {
			i.Message.Re = mess.Refs{suggestion}
		}
		return i
	})
	if err != nil {
		back()
	}
	if errors.Is(err, transition.ErrUnseen) {
		return mess.Ack{}, errNoThread(s.ref)
	}
	return ack, err
}

// input returns the input of a step: a message of an actor, with the time and the channel set.
func (x *Exchange) input(actor Actor, channel string, m mess.Message) transition.Input {
	now := x.now()
	m.From, m.Received, m.Channel, m.ExpiresIn, m.Ref = actor.ID, mess.TimeOf(now), channel, "", ""
	return transition.Input{Actor: actor, Now: now, Message: m, Attempts: x.cfg.MaxAttempts}
}

// attempts limits how often the exchange repeats a step because another writer was first.
const attempts = 8

// step makes one step of a thread: it judges the input for the newest envelope, stores the step,
// and publishes it. It calls makeInput again whenever the envelope has changed meanwhile.
func (x *Exchange) step(ctx context.Context, ref string, makeInput func(Envelope) transition.Input) (mess.Ack, error) {
	l, err := x.load(ctx, ref)
	if err != nil {
		return mess.Ack{}, err
	}
	l.step.Lock()
	defer l.step.Unlock()
	for range attempts {
		env := x.open.envelope(l)
		ack, done, err := x.tryStep(ctx, l, env, makeInput(env))
		if err != nil && done {
			return ack, withThread(err, x.open.envelope(l))
		}
		if done {
			return ack, nil
		}
	}
	return mess.Ack{}, mess.Errorf(mess.Unavailable, "%s: other writers change this thread all the time; try again", ref)
}

// tryStep makes one step. done is false if the thread has changed meanwhile.
func (x *Exchange) tryStep(ctx context.Context, l *openThread, env Envelope, in transition.Input) (_ mess.Ack, done bool, _ error) {
	t, err := x.apply(in, env)
	if err != nil {
		return mess.Ack{}, true, err
	}
	if t.Repeat {
		return x.ack(&t), true, nil
	}
	step, err := x.prepareStep(ctx, &t)
	if err != nil {
		return mess.Ack{}, true, err
	}
	switch err := x.append(ctx, &step); {
	case errors.Is(err, ErrStale):
		return mess.Ack{}, false, x.reread(ctx, l)
	case errors.Is(err, ErrNoBlob):
		return mess.Ack{}, true, mess.Errorf(mess.MissingReference, "the message names an attachment that this thread does not have; upload it first")
	case err != nil:
		return mess.Ack{}, true, x.storeError(err)
	}
	if t.EvidenceReason != "" {
		x.commitEvidence(l, step)
	} else {
		x.commit(l, step)
	}
	return x.ack(&t), true, nil
}

// apply judges an input, with the executors and orders of one moment.
func (x *Exchange) apply(in transition.Input, env Envelope) (transition.Effect, error) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	return transition.Apply(x.snapshot(x.now()), in, env)
}

// prepareStep returns what the store gets for an effect: the envelope, the message and its ack.
func (x *Exchange) prepareStep(ctx context.Context, t *transition.Effect) (Step, error) {
	t.Env.Ver++
	if messeaf.Numbered(t.Message) {
		t.Env.Serial++
	} else {
		t.Message.Ref = "" // only evidence: no actor may send it to a thread
	}
	t.Env.Updated = t.Now
	if t.Message.Channel != "file" { // a message from the folder is already there
		items, files := thread.ExtractFiles(t.Message.Items)
		if err := x.stage(ctx, files); err != nil {
			return Step{}, err
		}
		t.Message.Items = items
		if err := x.copyEarlierImages(ctx, t); err != nil {
			return Step{}, err
		}
	}
	binds := thread.BindAttachments(&t.Message, t.Env.Serial)
	if t.Message.ID != "" {
		t.Env.Seen = append(t.Env.Seen, ProcessedMessage{From: t.Actor.ID, ID: t.Message.ID, Ref: t.Message.Ref})
		t.Env.Seen = t.Env.Seen[max(0, len(t.Env.Seen)-thread.MaxProcessed):]
	}
	if t.Message.From == Self {
		t.Message.Version = mess.Current
	}
	messages := []mess.Message{t.Message}
	if t.Actor.ID != Self || t.EvidenceReason != "" {
		messages = append(messages, ackDocument(t, messeaf.ItemID(t.Message)))
	}
	if t.Also != nil {
		t.Also.Version = mess.Current
		t.Env.Serial++
		t.Also.Ref = messeaf.MessageRef(t.Env.Ref, t.Env.Serial, *t.Also)
		messages = append(messages, *t.Also)
	}
	return Step{After: t.Env.Rev, Envelope: t.Env, Messages: messages, Binds: binds}, nil
}

// ackDocument returns the ack as the thread has it.
func ackDocument(t *transition.Effect, re string) mess.Message {
	ack := &mess.Ack{Ref: cmp.Or(t.Message.Ref, t.Env.Ref)}
	if re != "" {
		ack.Re = mess.Refs{re}
	}
	if t.EvidenceReason != "" {
		ack.Extra = mess.Object{{Key: "error", Value: t.EvidenceReason}}
	}
	return mess.Message{From: Self, Received: mess.TimeOf(t.Now), Items: []mess.Item{ack}}
}

// ack returns the ack as the sender gets it.
func (x *Exchange) ack(t *transition.Effect) mess.Ack {
	a := mess.Ack{Ref: t.Message.Ref, ReceivedAt: mess.TimeOf(t.Now), Status: t.Env.Status}
	if id := messeaf.ItemID(t.Message); id != "" {
		a.Re = mess.Refs{id}
	}
	if t.Env.Holder() == t.Actor.ID {
		a.Epoch = t.Env.Epoch
		a.Lease = mess.Duration(x.lease(t.Env).String())
	}
	return a
}

// withThread adds the thread, its status and its holder to a *mess.Error.
func withThread(err error, env Envelope) error {
	r, ok := errors.AsType[*mess.Error](err)
	if !ok {
		return err
	}
	r.Ref, r.Status, r.Holder = env.Ref, env.Status, env.Holder()
	return r
}
