package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// task is one thread from its offer to the report on it.
type task struct {
	a    *Agent
	ref  string
	by   string // the requester
	req  mess.Request
	boot string // the run of the program that has claimed it: this one, unless an earlier one has begun it

	verdict   gate.Verdict // of the plan
	plan      *capabilities.Plan
	confirmed string                 // digest of the plan to which a yes was given
	resumed   bool                   // an earlier run has begun it
	first     time.Time              // when an earlier run may have told the device; zero: none has
	question  *capabilities.Question // that an earlier run has asked
	tried     bool                   // a claim was sent
	ended     time.Time              // when what came of it was known; zero before
	past      *past                  // what is done, where only a watch is left; nil else
	before    time.Time              // when an earlier run has begun what goes on by itself; zero for nothing
	steps     steps                  // how far a plan with steps is
	began     time.Time              // when the world was first touched or looked at; zero before, and after a restart

	// Guarded by Agent.mu.
	epoch   uint64                  // of the claim; 0 before it
	inbox   chan mess.Message       // what is said to the thread; nil before the claim
	cancel  context.CancelCauseFunc // nil before work begins
	over    bool                    // it was withdrawn before work began
	early   error                   // why following ends that has not begun yet; nil: it does not
	offered *mess.Request           // it was offered again meanwhile
	dropped bool                    // it was given up without a word
	lates   []late                  // commands that may still arrive when it has ended
	watched time.Time               // from when on their devices are watched
	code    mess.Code               // in which it has ended
	placed  bool                    // it has a place among those that are worked on
	idle    bool                    // it waits for an answer, and has not begun
	until   time.Time               // when a question ends without an answer; zero: it does not
}

// maxInbox is how many messages may wait for a thread that does not listen.
const maxInbox = 32

func newTask(a *Agent, ref, by string, req mess.Request) *task {
	return &task{a: a, ref: ref, by: by, req: req, boot: a.boot}
}

// holds notes the claim of the thread. What is said to the thread is kept from then on.
// Agent.mu is held, unless nobody else knows the thread yet.
func (t *task) holds(epoch uint64) {
	t.epoch, t.inbox = epoch, make(chan mess.Message, maxInbox)
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
	defer t.saved(ctx)
	err := t.prepare(ctx)
	if err == nil {
		err = t.perform(ctx)
	}
	if no := stopOf(ctx); no != nil {
		err = t.stoppedEarly(ctx, no, err)
	}
	switch e, told := errors.AsType[*ending](err); {
	case told:
		t.report(ctx, e.status, nil)
	case err != nil && !errors.Is(err, errDeclined):
		held := t.tried && !t.resumed && stopped(ctx) && !t.handBack(ctx, "the program was ended before anything was done")
		if t.drop(err); !held { // else the next run goes on waiting for an answer
			t.answered(context.WithoutCancel(ctx))
		}
	}
}

// stopped reports whether the work ends because the program does.
func stopped(ctx context.Context) bool {
	why := context.Cause(ctx)
	return why != nil && !errors.Is(why, errLost) && !errors.Is(why, errCancelled) && stopOf(ctx) == nil
}

// handBack gives back a claim under which nothing was begun, so that the thread
// says so and others are asked at once.
func (t *task) handBack(ctx context.Context, why string) (done bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMailTime)
	defer cancel()
	_, err := t.a.say(ctx, t.signed(t.message(&mess.Status{Code: mess.Delegated, Instance: t.boot, Reason: &mess.Reason{
		Type: mess.Shutdown, Detail: why, Effect: mess.EffectNone,
	}})))
	if err != nil { // its lease will be over, or the exchange knows better
		t.a.log.Info("not handed back", "ref", t.ref, "err", err)
	}
	return err == nil
}

// drop gives a thread up without a word: the exchange knows how it stands.
func (t *task) drop(why error) {
	t.a.log.Info("dropped", "ref", t.ref, "err", why)
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.dropped = true
}

// saved ends a thread that a mistake in this program would otherwise have taken
// the program down with, and one that the journal would remember as begun.
func (t *task) saved(ctx context.Context) {
	p := recover()
	if p != nil {
		t.a.log.Error("mistake in the program", "ref", t.ref, "err", p, "stack", string(debug.Stack()))
	}
	task, known := t.a.journal.Task(t.ref)
	begun := known && task.Open()
	switch {
	case known && task.Report != nil: // what was done is told; what went wrong came after it
	case p != nil && t.claimed() == 0:
		_ = t.decline(ctx, fmt.Sprintf("a mistake in the executor: %v", p)) // if this fails too, the offer stands
	case p != nil && begun:
		t.report(ctx, failed("internal", fmt.Sprintf("a mistake in the executor: %v", p), mess.EffectUnknown, *t.plan), nil)
	case p != nil:
		t.report(ctx, failed("internal", fmt.Sprintf("a mistake in the executor: %v", p), mess.EffectNone, capabilities.Plan{}), nil)
	case begun && ctx.Err() == nil: // if the program ends, the next run sees to it
		t.report(ctx, t.a.afterCrash(ctx, 0, *t.plan), nil)
	}
}

// prepare takes a thread from its offer to a plan that may be carried out: the
// request is understood before it is claimed, so that others get what is not
// for this house.
func (t *task) prepare(ctx context.Context) error {
	switch {
	case !t.before.IsZero():
		return nil
	case t.resumed:
		return t.resume(ctx)
	case t.question != nil:
		t.waits()
		defer t.waitsNoMore()
		return t.agree(ctx, capabilities.Outcome{Question: t.question})
	}
	if no := t.a.gate.Refused(); no != nil { // whatever it asks for
		return t.declineFor(ctx, mess.Reason{Type: no.Rule, Detail: no.Error()})
	}
	if n := t.a.journal.Died(t.ref); n >= maxCrashes {
		t.a.log.Error("quarantined: the program has died of its words more than once", "ref", t.ref)
		return t.decline(ctx, fmt.Sprintf("the program died %d times while it looked at this request; it is quarantined", n))
	}
	var out capabilities.Outcome
	var reason mess.Reason
	err := t.try(ctx, func() (err error) {
		out = t.a.resolver.Resolve(t.req)
		reason, err = t.refused(ctx, out)
		return err
	})
	if reason.Detail != "" || err != nil {
		return errors.Join(err, t.declineFor(ctx, reason))
	}
	if err := t.a.unheld(ctx); err != nil { // a hold may have come meanwhile
		return err
	}
	if t.asksFirst(out) {
		if why := t.mayWait(); why.Detail != "" {
			return t.declineFor(ctx, why)
		}
		defer t.waitsNoMore()
	}
	if err := t.claim(ctx, out.Plan); err != nil {
		return err
	}
	return t.agree(ctx, out)
}

// agree comes to a plan to which its requester, and whoever else must, has said
// yes.
func (t *task) agree(ctx context.Context, out capabilities.Outcome) error {
	plan, err := t.ask(ctx, out)
	if err != nil {
		return err
	}
	t.plan = plan
	return t.confirm(ctx)
}

// try looks at the words of the thread. If the program dies of that, it knows it
// when it is back.
func (t *task) try(ctx context.Context, look func() error) error {
	done, err := t.a.journal.Try(ctx, t.ref)
	if err != nil {
		return err
	}
	defer done()
	return look()
}

// resume makes ready what an earlier run has begun and what may be begun again.
func (t *task) resume(ctx context.Context) error {
	v, err := t.judgeAll(ctx, *t.plan)
	t.verdict = v
	if ctx.Err() != nil {
		return err
	}
	if err == nil && t.plan.Actuates() {
		return t.lookFirst(ctx)
	}
	if err == nil {
		return nil
	}
	s := t.a.afterCrash(ctx, 0, *t.plan)
	if s.Reason != nil {
		s.Reason.Detail += "; it is not begun again: " + err.Error()
	}
	return &ending{s}
}

// refused is why an outcome cannot be carried out here, without a detail if it
// can. Its type is the rule of the gate that does not let it through.
func (t *task) refused(ctx context.Context, out capabilities.Outcome) (why mess.Reason, _ error) {
	switch {
	case out.Refusal != nil:
		why.Detail = refusalText(*out.Refusal)
		return why, nil
	case out.Question != nil:
		if no := t.barred(*out.Question); no != nil {
			why = mess.Reason{Type: no.Rule, Detail: no.Error()}
		}
		return why, nil
	case out.Plan == nil:
		return why, nil
	}
	v, err := t.judgeAll(ctx, *out.Plan)
	if ctx.Err() != nil {
		return why, context.Cause(ctx)
	}
	t.verdict = v
	if err != nil {
		why.Detail = err.Error()
	}
	if no, ok := errors.AsType[*gate.Refusal](err); ok {
		why.Type = no.Rule
	}
	return why, nil
}

func refusalText(r capabilities.Refusal) string {
	if len(r.Nearest) == 0 || slices.ContainsFunc(r.Nearest, func(n string) bool { return strings.Contains(r.Reason, n) }) {
		return r.Reason
	}
	return r.Reason + "; nearest: " + strings.Join(r.Nearest, ", ")
}

// check tells whether a plan could be carried out now.
func (a *Agent) check(ctx context.Context, p gate.Order) (gate.Verdict, error) {
	d := a.devices[p.Device]
	if d == nil {
		return gate.Verdict{}, fmt.Errorf("there is no device %q here", p.Device)
	}
	if !able(d.Driver, p.Command) {
		return gate.Verdict{}, fmt.Errorf("%s cannot do that: its driver has no verb for %q", d.Name, p.Command)
	}
	if p.Actuates() {
		if err := a.journal.Ready(ctx); err != nil {
			return gate.Verdict{}, a.unable(d.Name, err)
		}
	}
	if p.Command.Watches() {
		if err := a.mayWatch(); err != nil {
			return gate.Verdict{}, err
		}
	}
	for _, other := range a.gate.Needs(p.Device) {
		if d := a.devices[other]; d != nil {
			if err := d.open(ctx, a.gate); err != nil {
				a.log.Warn("device not started", "device", other, "err", err) // the gate refuses what needs it
			}
		}
	}
	v, err := a.gate.Judge(ctx, p)
	if err != nil || p.Command == capabilities.Earlier { // the device is not asked
		return v, err
	}
	return v, d.open(ctx, a.gate)
}
