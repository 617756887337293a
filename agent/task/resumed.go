package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// maxFollows limits how often later runs follow an activity that continues on its own. They
// never begin it again, so this only limits a program that dies during the check.
const maxFollows = 30

// canReattach reports whether an earlier run has begun an activity that continues on its own and is
// still identifiable: a print. A later run also continues a wait condition for its remaining
// time, even after steps that the journal records as done.
func (t *task) canReattach(m intentRecord, times int) bool {
	plan := lastStep(m.Plan)
	d := t.Devices.Get(plan.Device)
	if d == nil || m.At.IsZero() || times >= maxFollows || m.Past == nil && len(m.Plan.Steps) > 0 {
		return false
	}
	if plan.Command.IsWait() {
		return device.Able(d.Driver, plan.Command)
	}
	if plan.Command != capabilities.Print {
		return false
	}
	_, prints := d.Driver.(drivers.Printer)
	return prints
}

// holdsClaim reports whether this executor still holds the claim of a task. A task with a pending
// cancel counts.
func holdsClaim(held []mess.HeldThread, task journal.Task) bool {
	for _, h := range held {
		if h.Ref == task.Ref && h.Epoch == task.Epoch && h.Yours != nil {
			return *h.Yours
		}
	}
	return false
}

// reattach follows an activity of an earlier run. It only needs a pass for reading, because it
// begins nothing.
func (t *task) reattach(ctx context.Context, plan capabilities.Plan) error {
	step := lastStep(plan)
	t.noteChangedSteps(ctx, plan)
	if err := t.Devices.Get(step.Device).Open(context.WithoutCancel(ctx), t.Gate); err != nil {
		t.Log.Warn("device not started", "device", step.Device, "err", err)
	}
	query := step
	query.Command, query.Effect = capabilities.Observe, capabilities.Query
	pass, err := t.Gate.Admit(ctx, policy.Order{Plan: query}, nil)
	if no, ok := errors.AsType[*policy.Rejection](err); ok && t.completed != nil {
		return &terminalError{t.waitEnded(ctx, no)}
	} else if ok {
		return &terminalError{failed(no.Rule, "the program ended after it had begun; now: "+no.Error(), mess.EffectUnknown, plan)}
	}
	if err != nil {
		return nil // the program ends; the next run follows
	}
	defer pass.End()
	t.began = t.reattachFrom
	r := t.act(ctx, pass, step, func(r action.Result) { t.storeResult(ctx, step, r) })
	if r.Continues {
		return nil
	}
	t.ended = t.Now()
	if t.completed != nil {
		r = t.withCompletedSteps(plan, r)
	}
	t.reportResult(ctx, pass.End, plan, r)
	return nil
}

// completedSteps holds the results of the earlier steps of a plan whose last step is a wait
// condition. The journal has it before the wait begins, so that the next run repeats none of them
// and reports all of them.
type completedSteps struct {
	Done     []string      `json:"done"` // in words
	Text     string        `json:"text,omitempty"`
	Notes    string        `json:"notes,omitempty"`
	Evidence mess.Evidence `json:"evidence,omitempty"` // without images, which are not stored
	Facts    mess.Object   `json:"facts,omitempty"`
}

// storeCompletedSteps records the results of the earlier steps before the last step begins to wait.
// Otherwise the next run would only know that the plan had begun.
func (t *task) storeCompletedSteps(ctx context.Context, plan capabilities.Plan, all action.Result) {
	t.completed = &completedSteps{Done: all.Done, Text: all.Text, Notes: all.Notes, Evidence: all.EvidenceWithoutImages, Facts: all.Facts}
	if err := t.writeIntent(ctx, plan, withoutNotes); err != nil {
		t.completed = nil
		t.Log.Warn("the journal does not take the steps before a wait; after a crash their results are unknown", "ref", t.ref, "err", err)
	}
}

// noteChangedSteps notes which results of an earlier run are no longer true: the start of the
// program has set every output to its initial state.
func (t *task) noteChangedSteps(ctx context.Context, plan capabilities.Plan) {
	if t.completed == nil {
		return
	}
	r := action.Result{Notes: t.completed.Notes}
	for _, step := range plan.Steps[:len(plan.Steps)-1] {
		if is, how := action.Verify(context.WithoutCancel(ctx), t.Devices, step); is == action.FoundNotDone {
			r.Note("%s: done before the program restarted; %s", step.Summary, how)
		}
	}
	if r.Notes != t.completed.Notes {
		t.completed.Text, t.completed.Notes = "Before the program restarted: "+t.completed.Text, r.Notes
	}
}

// lastStep returns the step with which the next run continues; a plan without steps is its own
// step.
func lastStep(plan capabilities.Plan) capabilities.Plan {
	each := plan.Each()
	return each[len(each)-1]
}

// withCompletedSteps adds the results of an earlier run to the result r of the last step.
func (t *task) withCompletedSteps(plan capabilities.Plan, r action.Result) action.Result {
	p := t.completed
	all := action.Result{Done: p.Done, Text: p.Text, Notes: p.Notes, Evidence: p.Evidence, EvidenceWithoutImages: p.Evidence, Facts: p.Facts}
	if all.Add(lastStep(plan), r); all.Err == nil {
		all.Done, all.Remaining = nil, nil // it is complete
	}
	return all
}

// waitEnded returns the end of a plan whose wait condition cannot continue: it reports the
// completed steps and that nothing waits any more.
func (t *task) waitEnded(ctx context.Context, cause error) *mess.Status {
	r := t.withCompletedSteps(*t.plan, action.Result{Err: fmt.Errorf("the agent no longer watches: %w", cause), Effect: mess.EffectNone})
	s := t.terminalStatus(ctx, *t.plan, r)
	if s.Reason != nil && !errors.Is(context.Cause(ctx), runtime.ErrCancelled) {
		s.Reason.Type = "interrupted"
	}
	return s
}
