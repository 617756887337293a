package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
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
	stored, err := x.readStops(ctx, &in, &env)
	if err != nil {
		return mess.Ack{}, true, err
	}
	t, err := x.apply(in, env, stored)
	if (err != nil || t.Repeat) && x.docs.IsShared() && !transition.IsLateClaim(&in, &env) {
		// No write shows that the envelope is the newest one, so the store has to.
		switch readErr := x.reread(ctx, l); {
		case readErr != nil:
			return mess.Ack{}, true, readErr
		case x.open.envelope(l).Rev != env.Rev:
			return mess.Ack{}, false, nil
		}
	}
	if err != nil {
		return mess.Ack{}, true, err
	}
	if t.Repeat {
		return x.ack(&t), true, x.checkStarted(ctx, &in, &env, &t.Env)
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
	x.commit(l, step)
	x.meter.Step(&env, &step.Envelope)
	x.stepped(&env, &step.Envelope)
	return x.ack(&t), true, x.checkStarted(ctx, &in, &env, &step.Envelope)
}

// apply judges an input, with the executors and orders of one moment, and the stops that the store has.
func (x *Exchange) apply(in transition.Input, env Envelope, stored registry.StoredStops) (transition.Effect, error) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	s := x.snapshot(x.now())
	s.stored = stored
	return transition.Apply(s, in, env)
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

// snapshot is the state of the exchange at one moment. It answers the questions of package routing
// (routing.Presence) and of the thread rules (transition.Snapshot). Its user holds x.open.mu,
// except for IsAble.
type snapshot struct {
	x        *Exchange
	registry *registry.Snapshot
	now      time.Time
	stored   registry.StoredStops // for a start, if the store is shared
}

// snapshot returns the present state.
func (x *Exchange) snapshot(now time.Time) snapshot {
	return snapshot{x: x, registry: x.registry.Snapshot(), now: now}
}

// request prepares to route a thread.
func (s snapshot) request(e *Envelope) routing.Request {
	return s.registry.Table.Request(e, s.registry.StopAll.Covers(e), s.now)
}

// IsLive reports whether an executor subscribes now, or has sent something lately.
func (s snapshot) IsLive(e *routing.Executor) bool {
	one := s.registry.Executor(e.ID)
	return one != nil && s.x.registry.IsLive(one, s.now)
}

// IsDrained reports whether an executor takes no new threads.
func (s snapshot) IsDrained(id string) bool { return s.registry.Orders(id).IsDrained() }

// Load returns the number of claims and offers of an executor.
func (s snapshot) Load(id string) int { return s.x.open.held[id].len() + s.x.open.offered[id].len() }

// CheckClaim returns nil if an actor may claim a thread now (transition T2), or a *mess.Error.
func (s snapshot) CheckClaim(actor Actor, env Envelope) error {
	e := s.registry.Executor(actor.ID)
	if e == nil || !actor.Has(ExecutorRole) {
		return mess.Errorf(mess.Forbidden, "%q is no registered executor; send config.executor first", actor.ID)
	}
	if err := s.request(&env).CheckExecutor(e.Executor); err != nil {
		return mess.Errorf(mess.Forbidden, "%q may not claim this: %v", actor.ID, err)
	}
	if o := s.registry.Orders(actor.ID); o.Drain != nil && o.Drain.On {
		return mess.Errorf(mess.NotYet, "%q may not claim this: it is %s", actor.ID, o.DrainReason())
	}
	l := s.x.open.byRef[env.Ref]
	if l == nil {
		return mess.Errorf(mess.IllegalTransition, "it has ended")
	}
	if wait := l.waitReason(&env, s.now); wait != "" {
		return mess.Errorf(mess.NotYet, "no executor may claim it yet: %s", wait)
	}
	if isExpired(&env, s.now) {
		return mess.Errorf(mess.NotYet, "needed by %s, which has passed", env.Expires.Format(time.RFC3339))
	}
	return nil
}

// IsAble reports whether an executor has the abilities for a thread.
func (s snapshot) IsAble(id string, e Envelope) bool {
	one := s.registry.Table.Executor(id)
	return one != nil && s.request(&e).CheckExecutor(one) == nil
}

// IsGone reports whether the holder of a thread has no subscription and has missed a heartbeat, so
// that it may never get a message.
func (s snapshot) IsGone(env Envelope) bool {
	e, l := s.registry.Executor(env.Holder()), s.x.open.byRef[env.Ref]
	late := func(t time.Time) bool { return s.now.Sub(t) > s.x.cfg.Lease/2 }
	return e != nil && l != nil && e.Beats && late(e.Seen()) && late(l.lastContact) && !s.x.events.Present(e.ID)
}

// HasHumanCandidate reports whether a person other than except might take a thread.
func (s snapshot) HasHumanCandidate(env Envelope, except string) bool {
	if s.PersonName(except) != "" {
		return false // a thread that a person has ended stays ended; the person can delegate it
	}
	for e := range s.request(&env).People() {
		if e.ID != except {
			return true
		}
	}
	return false
}

// HumanCandidates returns the names of the people who may still take a thread, sorted; none while a
// live robot may.
func (s snapshot) HumanCandidates(env Envelope) (names []string) {
	for e := range s.request(&env).Candidates() {
		switch {
		case e.Person:
			names = append(names, cmp.Or(e.Name, e.ID))
		case s.IsLive(e):
			return nil
		}
	}
	slices.Sort(names)
	return names
}

// PersonName returns the name of a human executor; "" for a robot.
func (s snapshot) PersonName(id string) string {
	if e := s.registry.Executor(id); e != nil && e.Person {
		return cmp.Or(e.Name, id)
	}
	return ""
}

// Stops returns the number of stops of everything.
func (s snapshot) Stops() uint64 { return s.registry.StopAll.Count }

// AllDeclined reports whether all candidates have declined a thread. Executors that were silent for
// long do not count, except a former holder: its silence fails the thread.
func (s snapshot) AllDeclined(env Envelope) bool {
	return !s.now.Before(s.allGoneAt(env)) && len(s.silentHolders(env)) == 0
}

// allGoneAt returns the time at which the last candidate counts as gone, if none of them sends
// anything; eventbus.Never from now for a subscriber.
func (s snapshot) allGoneAt(env Envelope) time.Time {
	gone := s.now
	for c := range s.request(&env).Candidates() {
		if s.x.events.Present(c.ID) {
			return s.now.Add(eventbus.Never)
		}
		seen := s.registry.Executor(c.ID).Seen()
		if seen.Before(s.x.opened) {
			seen = s.x.opened
		}
		if at := seen.Add(s.x.absenceLimit(c) + 1); at.After(gone) {
			gone = at
		}
	}
	return gone
}

// declinedChange returns the change that ends a declined thread, or nil while it has a candidate.
func (s snapshot) declinedChange(e Envelope) transition.Change {
	if len(e.Declined) == 0 || s.now.Before(s.allGoneAt(e)) {
		return nil
	}
	if left := s.silentHolders(e); len(left) > 0 {
		return transition.FailUnreachable(left)
	}
	return transition.Decline
}

// silentHolders describes each former holder that has not declined a thread, with the time of its
// silence.
func (s snapshot) silentHolders(env Envelope) (left []string) {
	for e := range s.request(&env).Candidates() {
		if env.HasHeld(e.ID) {
			left = append(left, fmt.Sprintf("%s had the claim, and has sent no heartbeat for %v", e.ID, s.now.Sub(s.registry.Executor(e.ID).Seen()).Round(time.Second)))
		}
	}
	return left
}

// personAway is the silence after which a person is no candidate any more: phones sleep.
const personAway = 24 * time.Hour

// absenceLimit returns the silence after which an executor is no candidate any more.
func (x *Exchange) absenceLimit(e *routing.Executor) time.Duration {
	if e.Person {
		return max(personAway, x.cfg.LostAfter)
	}
	return x.cfg.LostAfter
}

// mayKnow reports whether the sender of items may learn that a thread exists: everyone who may read
// it, and an executor whose claim comes too late.
func (x *Exchange) mayKnow(actor Actor, e Envelope, items []mess.Item) bool {
	if x.MaySee(actor, e) {
		return true
	}
	claims := !slices.ContainsFunc(items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return !ok || s.Code != mess.Claimed
	})
	over := e.Status.Terminal() && x.now().Sub(e.Updated) > lateClaim
	return claims && !over && x.couldTake(actor, e)
}

// lateClaim is the time after the end of a thread in which a claim may still answer an old offer.
const lateClaim = time.Minute
