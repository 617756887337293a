package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// task is one thread from its offer to its final report.
type task struct {
	*Deps
	all *Tasks

	ref      string
	by       string // the requester
	trace    string // context of the thread's trace, or ""; an earlier run of the program has not kept it
	req      mess.Request
	instance string // the run of the program that made the claim: this one, or an earlier one

	decision     policy.Decision // the check of the plan
	plan         *capabilities.Plan
	confirmed    string                      // digest of the confirmed plan
	resumed      bool                        // an earlier run has begun it
	firstCommand time.Time                   // time of the first possible command of an earlier run; zero: none
	question     *capabilities.Clarification // an open question of an earlier run
	claimSent    bool                        // the agent has sent a claim
	ended        time.Time                   // when the result was known; zero before
	completed    *completedSteps             // results of the earlier steps, if only a wait condition is left; else nil
	reattachFrom time.Time                   // when an earlier run began an activity that continues on its own; zero: none
	steps        steps                       // progress of a plan with steps
	began        time.Time                   // first act or reading; zero before, and after a restart

	// Guarded by Tasks.mu.
	epoch        uint64                  // of the claim; 0 before it
	inbox        chan mess.Message       // messages to the thread; nil before the claim
	cancel       context.CancelCauseFunc // nil before work begins
	withdrawn    bool                    // withdrawn before work began
	earlyCancel  error                   // cause of a cancel before following began; nil: none
	newOffer     *mess.Request           // a new offer during the work
	abandoned    bool                    // given up without a report
	lateCommands []lateCommand           // commands that may arrive after the end
	watchedSince time.Time               // when the watch of their devices began
	code         mess.Code               // terminal status
	hasSlot      bool                    // it has a slot among the threads in work
	idle         bool                    // it waits for an answer and has not begun
	questionEnds time.Time               // when a question times out; zero: never
	uses         []string                // devices of its plan
}

// maxInbox limits the waiting messages of a thread that does not read them.
const maxInbox = 32

func newTask(ts *Tasks, ref, by string, req mess.Request) *task {
	return &task{Deps: ts.Deps, all: ts, ref: ref, by: by, req: req, instance: ts.Session.Instance}
}

// setClaim records the claim of the thread. The inbox receives messages from then on. The caller
// holds Tasks.mu, unless no other goroutine knows the thread yet.
func (t *task) setClaim(epoch uint64) {
	t.epoch, t.inbox = epoch, make(chan mess.Message, maxInbox)
}

// terminalError is the final status of a thread, as an error.
type terminalError struct{ status *mess.Status }

func (e *terminalError) Error() string { return string(e.status.Code) }

// run works on a thread. The outbox has its final report when run returns.
func (t *task) run(ctx context.Context) {
	defer t.recoverPanic(ctx)
	err := t.prepare(ctx)
	if err == nil {
		err = t.perform(ctx)
	}
	if no := runtime.StopOf(ctx); no != nil {
		err = t.endStopped(ctx, no, err)
	}
	switch e, is := errors.AsType[*terminalError](err); {
	case is:
		t.report(ctx, e.status, nil)
	case err != nil && !errors.Is(err, errDeclined):
		held := t.claimSent && !t.resumed && runtime.ProgramEnds(ctx) && !t.returnClaim(ctx, "the program ended before the agent did anything")
		if t.abandon(err); !held { // else the next run waits for the answer
			t.clearQuestion(context.WithoutCancel(ctx))
		}
	}
}

// returnClaim returns a claim without a begun act, so that the exchange asks other executors at
// once.
func (t *task) returnClaim(ctx context.Context, reason string) (done bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReportsTime)
	defer cancel()
	_, err := t.Session.Say(ctx, t.signed(t.message(&mess.Status{Code: mess.Delegated, Instance: t.instance, Reason: &mess.Reason{
		Type: mess.Shutdown, Detail: reason, Effect: mess.EffectNone,
	}})))
	if err != nil { // its lease will end, or the exchange has newer information
		t.Log.Info("the exchange does not take the claim back", "ref", t.ref, "err", err)
	}
	return err == nil
}

// abandon gives a thread up without a report: the exchange knows its status.
func (t *task) abandon(cause error) {
	t.Log.Info("dropped", "ref", t.ref, "err", cause)
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.abandoned = true
}

// recoverPanic handles a panic in the work on a thread: it keeps the program alive and ends a
// thread that the journal would otherwise show as begun.
func (t *task) recoverPanic(ctx context.Context) {
	p := recover()
	if p != nil {
		t.Log.Error("mistake in the program", "ref", t.ref, "err", p, "stack", string(debug.Stack()))
	}
	task, known := t.Journal.Task(t.ref)
	begun := known && task.Open()
	switch {
	case known && task.Report != nil: // report the result; the panic came after it
	case p != nil && t.claimed() == 0:
		_ = t.decline(ctx, fmt.Sprintf("a bug in the executor: %v", p)) // if this fails too, the offer stays
	case p != nil && begun:
		t.report(ctx, failed("internal", fmt.Sprintf("a bug in the executor: %v", p), mess.EffectUnknown, *t.plan), nil)
	case p != nil:
		t.report(ctx, failed("internal", fmt.Sprintf("a bug in the executor: %v", p), mess.EffectNone, capabilities.Plan{}), nil)
	case begun && ctx.Err() == nil: // if the program ends, the next run ends the thread
		t.report(ctx, t.all.afterCrash(ctx, 0, *t.plan), nil)
	}
}

// prepare takes a thread from its offer to an executable plan. It interprets the request before
// the claim, so that other executors get requests that this one cannot carry out.
func (t *task) prepare(ctx context.Context) error {
	switch {
	case !t.reattachFrom.IsZero():
		return nil
	case t.resumed:
		return t.resume(ctx)
	case t.question != nil:
		t.takeQuestionSlot()
		defer t.freeQuestionSlot()
		return t.confirmPlan(ctx, capabilities.Outcome{Question: t.question})
	}
	if no := t.Gate.StopRejection(); no != nil { // a stop applies to every request
		return t.declineFor(ctx, mess.Reason{Type: no.Rule, Detail: no.Error()})
	}
	if n := t.Journal.CrashCount(t.ref); n >= maxCrashes {
		t.Log.Error("quarantined: the program has died during its interpretation more than once", "ref", t.ref)
		return t.decline(ctx, fmt.Sprintf("the program died %d times while it read this request; the agent has quarantined it", n))
	}
	var out capabilities.Outcome
	var reason mess.Reason
	err := t.interpret(ctx, func() (err error) {
		out = t.Resolver.Resolve(t.req)
		reason, err = t.rejection(ctx, out)
		return err
	})
	if reason.Detail != "" || err != nil {
		return errors.Join(err, t.declineFor(ctx, reason))
	}
	if err := t.Host.WaitUndrained(ctx); err != nil { // a drain may have begun since
		return err
	}
	if t.mustAskFirst(out) {
		if busy := t.reserveQuestionSlot(); busy.Detail != "" {
			return t.declineFor(ctx, busy)
		}
		defer t.freeQuestionSlot()
	}
	if err := t.claim(ctx, out.Plan); err != nil {
		return err
	}
	return t.confirmPlan(ctx, out)
}

// confirmPlan returns a plan that the requester and any other required person have confirmed.
func (t *task) confirmPlan(ctx context.Context, out capabilities.Outcome) error {
	plan, err := t.clarify(ctx, out)
	if err != nil {
		return err
	}
	t.plan = plan
	return t.confirm(ctx)
}

// interpret calls read, which interprets a message of the thread. The journal knows of it
// meanwhile: if the program dies in read, the next run knows the cause.
func (t *task) interpret(ctx context.Context, read func() error) error {
	done, err := t.Journal.TrackInterpretation(ctx, t.ref)
	if err != nil {
		return err
	}
	defer done()
	return read()
}

// resume prepares a thread of an earlier run that may be repeated.
func (t *task) resume(ctx context.Context) error {
	v, err := t.checkSteps(ctx, *t.plan)
	t.decision = v
	if ctx.Err() != nil {
		return err
	}
	if err == nil && t.plan.Actuates() {
		return t.readBackFirst(ctx)
	}
	if err == nil {
		return nil
	}
	s := t.all.afterCrash(ctx, 0, *t.plan)
	if s.Reason != nil {
		s.Reason.Detail += "; the agent does not begin it again: " + err.Error()
	}
	return &terminalError{s}
}

// rejection returns why this executor cannot carry out an outcome; without a detail it can. The
// type of the reason is the policy rule that rejects the plan.
func (t *task) rejection(ctx context.Context, out capabilities.Outcome) (reason mess.Reason, _ error) {
	switch {
	case out.Refusal != nil:
		reason.Detail = rejectionText(*out.Refusal)
		return reason, nil
	case out.Question != nil:
		if no := t.unanswerable(*out.Question); no != nil {
			reason = mess.Reason{Type: no.Rule, Detail: no.Error()}
		}
		return reason, nil
	case out.Plan == nil:
		return reason, nil
	}
	if err := t.use(*out.Plan); err != nil {
		return mess.Reason{Type: "busy", Detail: err.Error()}, nil
	}
	v, err := t.checkSteps(ctx, *out.Plan)
	if ctx.Err() != nil {
		return reason, context.Cause(ctx)
	}
	t.decision = v
	if err != nil {
		reason.Detail = err.Error()
	}
	if no, ok := errors.AsType[*policy.Rejection](err); ok {
		reason.Type = no.Rule
	}
	return reason, nil
}

func rejectionText(r capabilities.Rejection) string {
	if len(r.Nearest) == 0 || slices.ContainsFunc(r.Nearest, func(n string) bool { return strings.Contains(r.Reason, n) }) {
		return r.Reason
	}
	return r.Reason + "; nearest: " + strings.Join(r.Nearest, ", ")
}

// checkPlan reports whether a plan could begin now.
func (ts *Tasks) checkPlan(ctx context.Context, p policy.Order) (policy.Decision, error) {
	d := ts.Devices.Get(p.Device)
	if d == nil {
		return policy.Decision{}, fmt.Errorf("there is no device %q here", p.Device)
	}
	if !device.Able(d.Driver, p.Command) {
		return policy.Decision{}, fmt.Errorf("%s cannot do that: its driver has no verb for %q", d.Name, p.Command)
	}
	if p.Actuates() {
		if err := ts.Journal.EnsureRoom(ctx); err != nil {
			return policy.Decision{}, ts.notReadyText(d.Name, err)
		}
	}
	if p.Command.IsWait() {
		if err := ts.Activity.CheckWaitLimit(); err != nil {
			return policy.Decision{}, err
		}
	}
	for _, other := range ts.Gate.DependsOn(p.Device) {
		if d := ts.Devices.Get(other); d != nil {
			if err := d.Open(ctx, ts.Gate); err != nil {
				ts.Log.Warn("device not started", "device", other, "err", err) // the safety policy rejects plans that need it
			}
		}
	}
	v, err := ts.Gate.Evaluate(ctx, p)
	if err != nil || p.Command == capabilities.EarlierImages { // the plan needs no device
		return v, err
	}
	return v, d.Open(ctx, ts.Gate)
}

// notReadyText explains to a requester why a device may not act while the journal fails.
func (ts *Tasks) notReadyText(device string, err error) error {
	ts.Host.JournalFailed()
	if journal.NoSpace(err) {
		return fmt.Errorf("no space: %s does not act now, because the agent cannot record its acts; make room on the disk of %s", device, ts.Config.ID)
	}
	return fmt.Errorf("%s does not act now: the agent cannot record its acts; check the disk of %s", device, ts.Config.ID)
}

// endStopped ends a thread that a stop caught before its begin. The thread must not begin
// on its own after the reset.
func (t *task) endStopped(ctx context.Context, no *policy.Rejection, err error) error {
	_, isTerminal := errors.AsType[*terminalError](err)
	switch {
	case err == nil || isTerminal || errors.Is(err, errDeclined):
		return err
	case t.completed != nil:
		return &terminalError{t.waitEnded(ctx, no)}
	case t.resumed:
		return &terminalError{failed("interrupted", fmt.Sprintf("the program died after it had begun; now: %v", no), mess.EffectUnknown, t.planned())}
	case t.claimed() != 0:
		return notDone(no.Rule, no.Error())
	case t.claimSent: // the claim may have arrived
		t.returnClaim(ctx, no.Error())
		return runtime.ErrLost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReportsTime)
	defer cancel()
	return t.declineFor(ctx, mess.Reason{Type: no.Rule, Detail: no.Error()})
}

// planned returns the plan, or an empty plan before there is one.
func (t *task) planned() capabilities.Plan {
	if t.plan == nil {
		return capabilities.Plan{}
	}
	return *t.plan
}
