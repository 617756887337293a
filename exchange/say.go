package exchange

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// say takes what an actor says to one thread: one step, or a refusal.
func (x *Exchange) say(ctx context.Context, in Inbound, s saying) (mess.Ack, error) {
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
	proven, spend := x.proven(in, code)
	ack, err := x.step(ctx, ref, func(env Envelope) *turn {
		t := x.turn(in.Actor, in.Channel, env, m, s.ref == mess.Last)
		if suggestion := env.Suggestion(s.ref); suggestion != "" {
			t.message.Re = mess.Refs{suggestion}
		}
		t.unseen = !x.mayHear(in.Actor, env, m.Items)
		t.proven = proven
		return t
	})
	if err == nil {
		spend()
	}
	if errors.Is(err, errUnseen) {
		return mess.Ack{}, noThread(s.ref)
	}
	return ack, err
}

// turn prepares a step.
func (x *Exchange) turn(who Actor, channel string, env Envelope, m mess.Message, byLast bool) *turn {
	now := x.now()
	m.From, m.Received, m.Channel, m.ExpiresIn, m.Ref = who.ID, mess.TimeOf(now), channel, "", ""
	return &turn{
		who: who, now: now, env: env.Clone(), message: m, byLast: byLast,
		mayClaim: func(e Envelope) error { return x.mayClaim(who, e) },
		mayTake:  func(e Envelope) bool { return x.couldTake(who, e) },
		able:     func(id string, e Envelope) bool { return x.couldTake(Actor{ID: id, Roles: ExecutorRole}, e) },
		refused:  x.refusedByAll,
		gone:     x.gone,
		people:   func(e Envelope) bool { return x.couldBeDoneByPeople(e, who.ID) },
		leftTo:   x.leftTo,
		person:   x.personName,
		stopping: func() bool { return len(x.unconfirmed(who.ID)) > 0 },
		stops:    x.everythingStopped,
		stopped:  x.stoppedBy,
		attempts: x.cfg.MaxAttempts,
	}
}

// resolve finds the thread that a sender means: a ref of a thread or of one of
// its messages, the sender's own id, or "last" (MESS 1.0 section 1.3).
func (x *Exchange) resolve(ctx context.Context, who Actor, name string) (string, error) {
	if name == mess.Last {
		return x.last(who)
	}
	ref := messeaf.ThreadRef(name)
	x.mu.Lock()
	_, open := x.open[ref]
	x.mu.Unlock()
	if open {
		return ref, nil
	}
	if own, err := x.store.Lookup(ctx, thread.Key{Owner: who.ID, Name: name}); err == nil {
		return own, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.broken(err)
	}
	if x.threads.Has(ref) {
		return ref, nil
	}
	if _, err := x.read(ctx, ref); err == nil { // it is not listed any more, or not yet
		return ref, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.broken(err)
	}
	if held, ok := x.heldAs(who.ID, name); ok {
		return held, nil
	}
	if offered := x.offeredAs(who, name); offered != "" {
		return offered, nil
	}
	if suggested, ok := x.suggestedAs(who, name); ok {
		return suggested, nil
	}
	return "", noThread(name)
}

// offeredAs finds the one waiting thread that its requester calls so and that an executor
// may take (MESS 1.0 section 4.4: "re: get-onions, code: claimed"); "" if there is none, or
// more than one.
func (x *Exchange) offeredAs(who Actor, clientID string) (ref string) {
	var named []Envelope
	x.mu.Lock()
	for _, l := range x.by.named[clientID] {
		if l.env.Status == mess.Pending {
			named = append(named, l.env)
		}
	}
	x.mu.Unlock()
	for _, e := range named {
		switch {
		case !x.couldTake(who, e):
		case ref != "":
			return ""
		default:
			ref = e.Ref
		}
	}
	return ref
}

// heldAs finds a thread by its requester's id among those that an executor
// holds.
func (x *Exchange) heldAs(executor, clientID string) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for ref, l := range x.by.named[clientID] {
		if l.env.Holder() == executor {
			return ref, true
		}
	}
	return "", false
}

// last is the most recent request of who.
func (x *Exchange) last(who Actor) (string, error) {
	x.mu.Lock()
	ref := x.latest[who.ID]
	x.mu.Unlock()
	if ref = cmp.Or(ref, x.threads.Last(who.ID)); ref == "" {
		return "", mess.Refuse(mess.Unknown, "re: %q has made no request, so there is no %q", who.ID, mess.Last)
	}
	return ref, nil
}

// attempts bounds how often a step is worked out again because another writer
// was first.
const attempts = 8

// step makes one step of a thread: it works it out on the newest envelope,
// stores it, and tells those whom it concerns.
func (x *Exchange) step(ctx context.Context, ref string, make func(Envelope) *turn) (mess.Ack, error) {
	l, err := x.load(ctx, ref)
	if err != nil {
		return mess.Ack{}, err
	}
	l.step.Lock()
	defer l.step.Unlock()
	for range attempts {
		t := make(x.envelope(l))
		ack, done, err := x.try(ctx, l, t)
		if done {
			return ack, explain(err, x.envelope(l))
		}
	}
	return mess.Ack{}, mess.Refuse(mess.Unavailable, "%s: others write to this thread all the time; try again", ref)
}

// try takes one turn. It is not done if the thread has changed meanwhile.
func (x *Exchange) try(ctx context.Context, l *live, t *turn) (_ mess.Ack, done bool, _ error) {
	if ref, ok := t.env.Processed(t.who.ID, t.message.ID); ok {
		return x.ack(t, ref), true, nil
	}
	before := t.env.Clone()
	if err := t.take(); err != nil {
		return mess.Ack{}, true, err
	}
	if t.repeat {
		return x.ack(t, t.message.Ref), true, nil
	}
	if t.evidence {
		t.env = before
	}
	t.remember(before.Status)
	step, err := x.seal(ctx, t)
	if err != nil {
		return mess.Ack{}, true, err
	}
	switch err := x.append(ctx, &step); {
	case errors.Is(err, ErrStale):
		return mess.Ack{}, false, x.reread(ctx, l)
	case errors.Is(err, ErrNoBlob):
		return mess.Ack{}, true, mess.Refuse(mess.Missing, "the message names an attachment that was not uploaded for this thread")
	case err != nil:
		return mess.Ack{}, true, x.broken(err)
	}
	if t.noted != "" {
		x.noted(l, step)
	} else {
		x.stored(l, step)
	}
	return x.ack(t, t.message.Ref), true, nil
}

// seal makes of a turn what is stored: the envelope, the message, and the ack
// that says so.
func (x *Exchange) seal(ctx context.Context, t *turn) (Step, error) {
	t.env.Ver++
	if messeaf.Numbered(t.message) {
		t.env.Serial++
	} else {
		t.message.Ref = "" // evidence of what nobody may say to a thread
	}
	t.env.Updated = t.now
	if t.message.Channel != "file" { // a message from the folder stands there already
		items, files := outside(t.message.Items)
		if err := x.stage(ctx, files); err != nil {
			return Step{}, err
		}
		t.message.Items = items
		if err := x.bringEarlier(ctx, t); err != nil {
			return Step{}, err
		}
	}
	binds := bindAttachments(&t.message, t.env.Serial)
	if t.message.ID != "" {
		t.env.Seen = append(t.env.Seen, Seen{From: t.who.ID, ID: t.message.ID, Ref: t.message.Ref})
		t.env.Seen = t.env.Seen[max(0, len(t.env.Seen)-thread.MaxSeen):]
	}
	if t.message.From == Self {
		t.message.Version = mess.Current
	}
	messages := []mess.Message{t.message}
	if t.who.ID != Self || t.noted != "" {
		messages = append(messages, ackDocument(t, messeaf.ItemID(t.message)))
	}
	if t.also != nil {
		t.also.Version = mess.Current
		t.env.Serial++
		t.also.Ref = messeaf.MessageRef(t.env.Ref, t.env.Serial, *t.also)
		messages = append(messages, *t.also)
	}
	return Step{After: t.env.Rev, Envelope: t.env, Messages: messages, Binds: binds}, nil
}

// ackDocument is the ack as it stands in the thread.
func ackDocument(t *turn, re string) mess.Message {
	ack := &mess.Ack{Ref: cmp.Or(t.message.Ref, t.env.Ref)}
	if re != "" {
		ack.Re = mess.Refs{re}
	}
	if t.noted != "" {
		ack.Extra = mess.Object{{Key: "error", Value: t.noted}}
	}
	return mess.Message{From: Self, Received: mess.TimeOf(t.now), Items: []mess.Item{ack}}
}

// ack is the ack as the sender gets it.
func (x *Exchange) ack(t *turn, ref string) mess.Ack {
	a := mess.Ack{Ref: ref, ReceivedAt: mess.TimeOf(t.now), Status: t.env.Status}
	if id := messeaf.ItemID(t.message); id != "" {
		a.Re = mess.Refs{id}
	}
	if t.env.Holder() == t.who.ID {
		x.mu.Lock()
		defer x.mu.Unlock()
		a.Epoch = t.env.Epoch
		a.Lease = mess.Duration(x.lease(t.env).String())
	}
	return a
}

func (x *Exchange) envelope(l *live) Envelope {
	x.mu.Lock()
	defer x.mu.Unlock()
	return l.env
}

// reread takes over what another process has made of a thread.
func (x *Exchange) reread(ctx context.Context, l *live) error {
	t, err := x.read(ctx, l.env.Ref)
	if err != nil {
		return x.broken(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.index(l, t.Envelope)
	return nil
}

// stored takes a step into the index and tells those whom it concerns.
func (x *Exchange) stored(l *live, s Step) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if l.env.Executor == s.Messages[0].From {
		l.heard = x.now()
	}
	x.index(l, s.Envelope)
	x.tell(s)
}

// noted takes a step into the index that changes nothing. Nobody is told: what
// was refused must not look like an order.
func (x *Exchange) noted(l *live, s Step) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.index(l, s.Envelope)
}

// explain adds to a refusal which thread it is about and how that stands.
func explain(err error, env Envelope) error {
	r, ok := errors.AsType[*mess.Refusal](err)
	if !ok {
		return err
	}
	r.Ref, r.Status, r.Holder = env.Ref, env.Status, env.Holder()
	return r
}
