package task

import (
	"context"
	"errors"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// maxFollows limits how often later runs follow an activity that continues on its own. They
// never begin it again, so this only limits a program that dies during the check.
const maxFollows = 30

// follows reports whether an earlier run has begun an activity that continues on its own and is
// still identifiable: a print. A later run also continues a wait condition for its remaining
// time, even after steps that the journal records as done.
func (t *task) follows(m memo, times int) bool {
	plan := lastStep(m.Plan)
	d := t.Devices.Get(plan.Device)
	if d == nil || m.At.IsZero() || times >= maxFollows || m.Past == nil && len(m.Plan.Steps) > 0 {
		return false
	}
	if plan.Command.Watches() {
		return device.Able(d.Driver, plan.Command)
	}
	if plan.Command != capabilities.Print {
		return false
	}
	_, prints := d.Driver.(drivers.Printer)
	return prints
}

// holds reports whether this executor still holds the claim of a task. A task with a pending
// cancel counts.
func holds(held []mess.HeldThread, task journal.Task) bool {
	for _, h := range held {
		if h.Ref == task.Ref && h.Epoch == task.Epoch && h.Yours != nil {
			return *h.Yours
		}
	}
	return false
}

// goOn follows an activity of an earlier run. It only needs a pass for reading, because it
// begins nothing.
func (t *task) goOn(ctx context.Context, plan capabilities.Plan) error {
	step := lastStep(plan)
	t.lookBack(ctx, plan)
	if err := t.Devices.Get(step.Device).Open(context.WithoutCancel(ctx), t.Gate); err != nil {
		t.Log.Warn("device not started", "device", step.Device, "err", err)
	}
	look := step
	look.Command, look.Effect = capabilities.Observe, capabilities.Query
	pass, err := t.Gate.Admit(ctx, policy.Order{Plan: look}, nil)
	if no, ok := errors.AsType[*policy.Rejection](err); ok && t.past != nil {
		return &ending{t.watchedNoMore(ctx, no)}
	} else if ok {
		return &ending{failed(no.Rule, "the program was ended after it had begun; now: "+no.Error(), mess.EffectUnknown, plan)}
	}
	if err != nil {
		return nil // the program ends; the next run follows
	}
	defer pass.End()
	t.began = t.before
	r := t.act(ctx, pass, step, func(r action.Result) { t.acted(ctx, step, r) })
	if r.Continues {
		return nil
	}
	t.ended = t.Now()
	if t.past != nil {
		r = t.withPast(plan, r)
	}
	t.finish(ctx, pass.End, plan, r)
	return nil
}
