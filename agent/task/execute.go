package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// perform carries out the plan: it takes the device, gets the start permission, writes the
// intent, acts, and reads the device back.
func (t *task) perform(ctx context.Context) error {
	plan := *t.plan
	if err := t.waitUntilStart(ctx, plan); err != nil {
		return err
	}
	if !t.reattachFrom.IsZero() {
		return t.reattach(ctx, plan)
	}
	if len(plan.Steps) > 0 {
		return t.performSteps(ctx, plan)
	}
	pass, err := t.Gate.Admit(ctx, t.policyOrder(plan, plan), func(reason string) { t.reportWaiting(ctx, reason) })
	if no, ok := errors.AsType[*policy.Rejection](err); ok {
		return notDone(no.Rule, no.Error())
	}
	if err != nil {
		return err
	}
	defer pass.End()
	asked, err := t.start(ctx, plan, pass.Record)
	if err != nil {
		return err
	}
	pass.RequirePermission(asked, func(ctx context.Context) (time.Time, error) { return t.permission(ctx, plan) })
	t.Log.Info("started", "ref", t.ref, "device", plan.Device, "capability", plan.Capability)
	t.began = t.Now()
	r := t.act(ctx, pass, plan, func(r action.Result) { t.storeResult(ctx, plan, r) })
	if r.Continues {
		return nil // the thread stays open, and the next run follows it
	}
	t.ended = t.Now()
	t.Activity.Learn(plan, t.Now().Sub(t.began))
	t.reportResult(ctx, pass.End, plan, r)
	return nil
}

// policyOrder converts one step of this thread's plan to an order for the safety policy; a plan
// without steps is its own step. A confirmation of the plan covers each of its steps.
func (t *task) policyOrder(plan, step capabilities.Plan) policy.Order {
	confirmed := t.confirmed
	if len(plan.Steps) > 0 && confirmed == plan.Digest() {
		confirmed = step.Digest()
	}
	return policy.Order{Plan: step, By: t.by, Confirmed: confirmed, Began: t.firstCommand}
}

// reportWaiting reports that the device is busy. The report only informs the requester, so
// reportWaiting does not retry it.
func (t *task) reportWaiting(ctx context.Context, reason string) {
	s := &mess.Status{Code: mess.Waiting, WaitingFor: &mess.WaitingFor{Type: "resource", Resource: t.plan.Device, Note: reason}}
	if _, err := t.Session.Send(ctx, t.message(s)); err != nil {
		t.Log.Debug("the exchange has not received a waiting status", "ref", t.ref, "err", err)
	}
}

// start gets the start permission (transition T4) and writes the intent (transition T5), in one
// sync with the notes of the safety policy that begin adds. If it returns no error, the caller may
// act at once; asked is the time of the request for the permission.
func (t *task) start(ctx context.Context, plan capabilities.Plan, begin func(context.Context, noteWriter) error) (asked time.Time, err error) {
	written := false
	if ctx.Err() != nil {
		return asked, context.Cause(ctx) // the exchange has not received the request
	}
	for {
		asked, err = t.permission(ctx, plan)
		switch {
		case errors.Is(err, mess.Unconfirmed):
			return asked, t.endUnstarted(ctx, written, "not_confirmed", err)
		case errors.Is(err, errPermissionLate):
			return asked, t.endUnstarted(ctx, written, "too_late", err)
		case err != nil && ctx.Err() == nil && !written:
			return asked, err // the exchange rejects the start and knows the thread's status
		case err != nil:
			return asked, t.endUnstarted(ctx, written, "not_started", err)
		}
		if !written {
			// A plan that only reads may continue without a journal.
			if err := t.writeIntent(ctx, plan, begin); err != nil && plan.Actuates() {
				kind := "journal"
				if no, ok := errors.AsType[*policy.Rejection](err); ok {
					kind = no.Rule
				}
				return asked, t.endUnstarted(ctx, false, kind, err)
			}
			written = true
		}
		if ctx.Err() != nil {
			return asked, t.endUnstarted(ctx, written, "not_started", context.Cause(ctx))
		}
		if t.Now().Sub(asked) <= policy.FreshFor {
			return asked, nil
		}
	}
}

// permission asks the exchange until it answers whether the plan may begin now. It returns the
// time of that request. The same holder may ask again (transition T4).
func (t *task) permission(ctx context.Context, plan capabilities.Plan) (time.Time, error) {
	pause := t.Session.Backoff()
	unanswered := false
	for {
		asked := t.Now()
		_, err := t.Session.Send(ctx, t.message(&mess.Status{
			Code: mess.InProgress, Instance: t.instance, ActionHash: plan.Digest(),
			Estimate: mess.DurationOf(t.Activity.Estimate(plan)), Extra: append(mess.Object{{Key: "effect", Value: string(effectClass(plan))}}, usesOf(plan)...),
			Completed: wording.AnyList(t.steps.done), Remaining: wording.AnyList(t.steps.left),
		}))
		if errors.Is(err, mess.NotYet) && (unanswered || t.hasBegunThere(err)) {
			err = fmt.Errorf("%w: %w", errPermissionLate, err)
		}
		if !session.IsUnavailable(err) || !pause.Sleep(ctx) {
			return asked, err
		}
		unanswered = true
	}
}

// hasBegunThere reports whether the exchange has stored the first start of the thread, although it rejects
// it: a stop came meanwhile.
func (t *task) hasBegunThere(err error) bool {
	r, ok := errors.AsType[*mess.Error](err)
	return ok && r.Status == mess.InProgress && t.began.IsZero() && t.reattachFrom.IsZero()
}

// effectClass returns the effect class of a plan for the exchange. It decides whether the
// exchange may offer the plan to another executor after it loses this one.
func effectClass(plan capabilities.Plan) capabilities.Effect {
	if !plan.Repeatable() {
		return capabilities.Once
	}
	return plan.Effect
}

// errPermissionLate reports that the exchange rejects a start that it has stored, or may have stored before
// an answer that did not arrive. The exchange then waits for a report.
var errPermissionLate = errors.New("the permission came too late")

// noteWriter writes notes of the safety policy.
type noteWriter = func(context.Context, ...journal.LedgerEntry) error

// withoutNotes is the argument begin of start for a plan whose steps write their own notes.
func withoutNotes(ctx context.Context, write noteWriter) error { return write(ctx) }

// writeIntent writes the intent to the journal, with the notes that begin adds.
func (t *task) writeIntent(ctx context.Context, plan capabilities.Plan, begin func(context.Context, noteWriter) error) error {
	record, err := json.Marshal(intentRecord{Plan: plan, Request: t.req, By: t.by, At: t.Now().Round(0), Past: t.completed})
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, notes ...journal.LedgerEntry) error {
		i := journal.Intent{Ref: t.ref, Epoch: t.claimed(), Digest: plan.Digest(), Boot: t.instance, Plan: record}
		err := t.Journal.Intent(ctx, i, notes...)
		if err != nil {
			t.Host.JournalFailed()
		}
		return err
	})
}

// endUnstarted ends a thread before its first act. The exchange may believe that it has begun, but
// nothing happened. written is true if the journal has the intent.
func (t *task) endUnstarted(ctx context.Context, written bool, kind string, err error) error {
	code := mess.Failed
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, runtime.ErrCancelled):
		code, kind, err = mess.Cancelled, "cancelled", errors.New("the cancel came before the agent did anything")
	case errors.Is(cause, runtime.ErrLost) && !written:
		return runtime.ErrLost
	case runtime.StopOf(ctx) != nil:
		kind, err = runtime.StopOf(ctx).Rule, cause
	case cause != nil && !errors.Is(cause, runtime.ErrLost):
		kind, err = "interrupted", errors.New("the program ended before the agent did anything")
	}
	return &terminalError{&mess.Status{
		Code: code, Reason: &mess.Reason{Type: kind, Detail: err.Error(), Effect: mess.EffectNone}, Recoverable: recoverable(code, true),
	}}
}

// act carries out one step on its device and reports progress in the meantime. It calls acted with
// the result before it reads the device back.
func (t *task) act(ctx context.Context, pass *policy.Pass, plan capabilities.Plan, acted func(action.Result)) action.Result {
	p := newProgress()
	run := action.Run{
		Pass: pass, Device: t.Devices.Get(plan.Device), Plan: plan, Progress: p.set, Now: t.Now, ClockMark: t.Session.ClockMark(), Acted: acted, Began: t.reattachFrom,
		Every: t.Config.Watch.Every, Done: t.Devices.Get(plan.Device).Done.Filled(),
		Limits: t.imageLimits(), Cameras: t.Devices.Cameras,
		Capture: func(ctx context.Context, name string) (imaging.Image, string, error) {
			return t.Devices.Capture(ctx, name, t.imageLimits())
		},
	}
	running, done := context.WithCancel(ctx)
	defer done()
	var g errgroup.Group
	endQuestion := func() {} // ends the wait for an answer; with two waits, the wrong one could receive it
	run.WithdrawQuestion = func() { endQuestion(); p.unmute() }
	run.Ask = func(q mess.Question) <-chan string {
		answer := make(chan string, 1)
		endQuestion()
		asking, end := context.WithCancel(running)
		endQuestion = end
		g.Go(func() error {
			text, err := t.askDuringTask(asking, p, q)
			if err != nil {
				t.Log.Debug("a question during the task has no answer", "ref", t.ref, "err", err)
				return nil
			}
			answer <- text
			return nil
		})
		return answer
	}
	g.Go(func() error { t.reportProgress(running, p); return nil })
	idle := t.Activity.Begin(plan)
	if plan.Command.IsWait() {
		defer t.Activity.BeginWait()()
	}
	r := run.Do(ctx)
	if r.Yes == nil && r.Err == nil && len(r.Remaining) == 0 && plan.Actuates() {
		r.Yes = new(true)
	}
	if r.Err != nil && errors.Is(context.Cause(ctx), runtime.ErrCancelled) {
		pass.MarkCancelled()
	}
	idle(r.Err)
	if t.resumed && plan.Actuates() && r.Effect != mess.EffectNone {
		r.Note("the program died after it had begun, and has begun it again: the command may have been sent twice")
	}
	if plan.Actuates() && (pass.Unanswered() || action.MayAct(r.Err)) {
		t.expectLateAct(plan, &r)
	}
	done()
	_ = g.Wait() // it returns nil, and no report follows the end
	kind, _ := t.failureReason(context.Cause(ctx), r)
	t.Devices.Get(plan.Device).Used(t.Now(), kind, r.Err)
	t.Devices.FailuresChanged()
	return r
}

// storeResult records the device's answer (transition T7) before the readback, so that a crash in
// between leaves no doubt about an act that must not repeat.
func (t *task) storeResult(ctx context.Context, plan capabilities.Plan, r action.Result) {
	if !plan.Repeatable() && r.Err == nil {
		t.store(ctx, t.message(t.terminalStatus(ctx, plan, r), t.response(plan, r, nil, []string{"the agent did not read the device again"})))
	}
}
