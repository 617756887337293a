package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// task is one thread from its offer to the report on it.
type task struct {
	a     *Agent
	ref   string
	req   mess.Request
	inbox chan mess.Message // what is said to the thread

	verdict gate.Verdict // of the plan
	plan    *capabilities.Plan

	// Guarded by Agent.mu.
	epoch   uint64                  // of the claim; 0 before it
	cancel  context.CancelCauseFunc // nil before work begins
	over    bool                    // it was withdrawn before work began
	offered *mess.Request           // it was offered again meanwhile
	dropped bool                    // it was given up without a word
}

// maxInbox is how many messages may wait for a thread that does not listen.
const maxInbox = 32

func newTask(a *Agent, ref string, req mess.Request) *task {
	return &task{a: a, ref: ref, req: req, inbox: make(chan mess.Message, maxInbox)}
}

// Why the work on a thread is ended from outside.
var (
	errLost      = errors.New("the claim is over")
	errCancelled = errors.New("cancelled")
)

// ending is the end of a thread that is told to the exchange.
type ending struct{ status *mess.Status }

func (e *ending) Error() string { return string(e.status.Code) }

// run works on a thread. What it has to say at the end is in the outbox when it
// returns.
func (t *task) run(ctx context.Context) {
	err := t.prepare(ctx)
	if err == nil {
		err = t.perform(ctx)
	}
	switch e, told := errors.AsType[*ending](err); {
	case told:
		t.report(ctx, e.status, nil)
	case err != nil && !errors.Is(err, errDeclined):
		t.a.log.Info("dropped", "ref", t.ref, "reason", err)
		t.a.mu.Lock()
		t.dropped = true
		t.a.mu.Unlock()
	}
}

// prepare takes a thread from its offer to a plan that may be carried out: the
// request is understood before it is claimed, so that others get what is not
// for this house.
func (t *task) prepare(ctx context.Context) error {
	if t.plan != nil { // from before a restart
		return nil
	}
	out := t.a.resolver.Resolve(t.req)
	if reason, err := t.refused(ctx, out); reason != "" || err != nil {
		return errors.Join(err, t.decline(ctx, reason))
	}
	if err := t.claim(ctx, out.Plan); err != nil {
		return err
	}
	plan, err := t.ask(ctx, out)
	if err != nil {
		return err
	}
	t.plan = plan
	return t.confirm(ctx)
}

// refused is why an outcome cannot be carried out here, "" if it can.
func (t *task) refused(ctx context.Context, out capabilities.Outcome) (string, error) {
	switch {
	case out.Refusal != nil:
		return refusalText(*out.Refusal), nil
	case out.Plan == nil:
		return "", nil
	}
	v, err := t.a.check(ctx, *out.Plan)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	t.verdict = v
	if err != nil {
		return err.Error(), nil
	}
	return "", nil
}

func refusalText(r capabilities.Refusal) string {
	if len(r.Nearest) == 0 || slices.ContainsFunc(r.Nearest, func(n string) bool { return strings.Contains(r.Reason, n) }) {
		return r.Reason
	}
	return r.Reason + "; nearest: " + strings.Join(r.Nearest, ", ")
}

// check tells whether a plan could be carried out now.
func (a *Agent) check(ctx context.Context, p capabilities.Plan) (gate.Verdict, error) {
	d := a.devices[p.Device]
	if d == nil {
		return gate.Verdict{}, fmt.Errorf("there is no device %q here", p.Device)
	}
	if !able(d.Driver, p.Command) {
		return gate.Verdict{}, fmt.Errorf("%s cannot do that: its driver has no verb for %q", d.Name, p.Command)
	}
	if err := a.journal.Err(); err != nil && p.Actuates() {
		a.log.Error("disarmed: the journal cannot be written", "err", err)
		return gate.Verdict{}, fmt.Errorf("%s does not act now: what it does could not be written down; look at the disk of %s", d.Name, a.cfg.ID)
	}
	v, err := a.gate.Check(p)
	if err != nil {
		return v, err
	}
	return v, a.open(ctx, d)
}

// decline says "not me" without a claim.
func (t *task) decline(ctx context.Context, reason string) error {
	if reason == "" {
		return nil
	}
	_, err := t.a.say(ctx, t.message(&mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: reason}}))
	if err != nil {
		return err
	}
	t.a.log.Info("declined", "ref", t.ref, "intent", t.req.Intent, "reason", reason)
	return errDeclined
}

var errDeclined = errors.New("declined")

// claim takes the thread, if nobody else has.
func (t *task) claim(ctx context.Context, p *capabilities.Plan) error {
	s := &mess.Status{Code: mess.Claimed}
	if p != nil {
		s.Estimate = mess.DurationOf(t.a.estimate(*p))
	}
	ack, err := t.a.say(ctx, t.message(s))
	if err != nil {
		return err
	}
	if ack.Epoch == 0 {
		return errLost
	}
	t.a.mu.Lock()
	t.epoch = ack.Epoch
	if lease, err := ack.Lease.Duration(); err == nil && lease > 0 {
		t.a.beat = min(t.a.beat, max(lease/3, time.Second))
	}
	t.a.mu.Unlock()
	t.a.log.Info("claimed", "ref", t.ref, "intent", t.req.Intent)
	return nil
}

// message is a message of this thread under its claim.
func (t *task) message(items ...mess.Item) mess.Message {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return mess.Message{ID: t.a.nextID(), Re: mess.Refs{t.ref}, Epoch: t.epoch, Items: items}
}

// nextID names a message so that the exchange knows it when it comes twice. mu
// is held.
func (a *Agent) nextID() string {
	a.serial++
	return fmt.Sprintf("%s-%d", a.boot, a.serial)
}
