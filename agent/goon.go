package agent

import (
	"context"
	"errors"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// maxFollows is how often what goes on by itself is taken up again. It is never
// begun again, so this only bounds a program that dies of looking at it.
const maxFollows = 30

// follows reports whether an earlier run has begun what goes on by itself, and what
// can be found again: a print. A watch is taken up again, too, for the rest of its time.
func (t *task) follows(m memo, times int) bool {
	d := t.a.devices[m.Plan.Device]
	if d == nil || m.At.IsZero() || times >= maxFollows {
		return false
	}
	if m.Plan.Command.Watches() {
		return able(d.Driver, m.Plan.Command)
	}
	if m.Plan.Command != capabilities.Print {
		return false
	}
	_, prints := d.Driver.(drivers.Printer)
	return prints
}

// holds reports whether the claim of a task is ours still. One that is to be
// cancelled is.
func holds(held []mess.HeldThread, task journal.Task) bool {
	for _, h := range held {
		if h.Ref == task.Ref && h.Epoch == task.Epoch && h.Yours != nil {
			return *h.Yours
		}
	}
	return false
}

// goOn follows what an earlier run has begun. It passes the gate as one who looks:
// nothing is begun.
func (t *task) goOn(ctx context.Context, plan capabilities.Plan) error {
	if err := t.a.devices[plan.Device].open(context.WithoutCancel(ctx), t.a.gate); err != nil {
		t.a.log.Warn("device not started", "device", plan.Device, "err", err)
	}
	look := plan
	look.Command, look.Effect = capabilities.Observe, capabilities.Query
	pass, err := t.a.gate.Enter(ctx, look, nil)
	if no, ok := errors.AsType[*gate.Refusal](err); ok {
		return &ending{failed(no.Rule, "the program was ended after it had begun; now: "+no.Error(), mess.EffectUnknown, plan)}
	}
	if err != nil {
		return nil // the program ends; the next run follows
	}
	defer pass.Leave()
	t.began = t.before
	r := t.act(ctx, pass, plan, t.verdict, func(r result) { t.acted(ctx, plan, r) })
	if r.goesOn {
		return nil
	}
	t.ended = t.a.now()
	t.finish(ctx, pass.Leave, plan, r)
	return nil
}
