package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// strongest combines the verdicts on the steps of a plan.
func strongest(a, b policy.Decision) policy.Decision {
	if b.Confirm == policy.ConfirmOperator || b.Confirm == policy.ConfirmRequester && a.Confirm != policy.ConfirmOperator {
		a.Confirm = b.Confirm
	}
	a.Confirm = cmp.Or(a.Confirm, policy.ConfirmNever)
	a.SwitchOffs = append(a.SwitchOffs, b.SwitchOffs...)
	a.Conditions = append(a.Conditions, b.Conditions...)
	return a
}

// judgeAll checks whether every step of a plan could begin now.
func (t *task) judgeAll(ctx context.Context, plan capabilities.Plan) (policy.Decision, error) {
	var all policy.Decision
	for _, step := range plan.Each() {
		v, err := t.table.check(ctx, t.order(plan, step))
		if err != nil {
			return v, err
		}
		all = strongest(all, v)
	}
	return all, nil
}

// performSteps carries out a plan with steps. It gets one start permission and writes one
// intent for all steps, and each step passes the safety policy separately.
func (t *task) performSteps(ctx context.Context, plan capabilities.Plan) error {
	t.steps = steps{left: summaries(plan.Steps)}
	asked, err := t.start(ctx, plan, unnoted)
	if err != nil {
		return err
	}
	t.began = t.now()
	var all result
	var did []capabilities.Plan
	apart, results := t.apart(plan), []result(nil)
	if apart {
		results = t.abreast(ctx, asked, plan)
	}
	for i, step := range plan.Steps {
		var r result
		if apart {
			r = results[i]
		} else {
			wait.For(ctx, step.After) // the step reports the end of ctx
			if i > 0 && step.Command.Watches() {
				t.watchNext(ctx, plan, all)
			}
			r = t.step(ctx, asked, plan, step)
		}
		if r.goesOn && t.past != nil {
			return nil // the thread stays open, and the next run continues to wait
		}
		all.add(step, r)
		if r.err == nil {
			did = append(did, step)
		}
		if !apart {
			t.tellSteps(ctx, all.done, plan.Steps[i+1:])
		}
		if r.err != nil && !apart && (ctx.Err() != nil || plan.Capability == capabilities.Several) {
			for _, rest := range plan.Steps[i+1:] { // later steps may depend on it
				all.left = append(all.left, rest.Summary)
			}
			break
		}
	}
	t.ended = t.now()
	for _, step := range did {
		if how := endsAs(t.devices, step); how != "" && stopped(ctx) {
			all.note("%s", how)
		}
	}
	if all.err == nil {
		all.done, all.left = nil, nil // it is complete
	}
	t.finish(ctx, func() {}, plan, all)
	return nil
}

// steps holds the steps of a plan in words, for reports to the requester.
type steps struct {
	done, left []string
	told       time.Time // time of the last report
}

func summaries(plans []capabilities.Plan) (list []string) {
	for _, p := range plans {
		list = append(list, p.Summary)
	}
	return list
}

// tellSteps reports the completed and the remaining steps before another step. It delays a step
// only briefly and does not repeat a failed report.
func (t *task) tellSteps(ctx context.Context, done []string, left []capabilities.Plan) {
	t.steps.done, t.steps.left = done, summaries(left)
	now := t.now()
	if len(left) == 0 || left[0].After == 0 && now.Sub(t.began) < progressEvery {
		return
	}
	if now.Sub(t.steps.told) < progressEvery {
		return
	}
	t.steps.told = now
	ctx, cancel := context.WithTimeout(ctx, progressEvery)
	defer cancel()
	s := &mess.Status{Code: mess.InProgress, Message: left[0].Summary, Completed: anyList(t.steps.done), Remaining: anyList(t.steps.left)}
	if _, err := t.session.send(ctx, t.message(s)); err != nil {
		t.log.Debug("steps not told", "ref", t.ref, "err", err)
	}
}

// step carries out one step.
func (t *task) step(ctx context.Context, asked time.Time, plan, step capabilities.Plan) result {
	none := func(err error) result { return result{err: err, effect: mess.EffectNone} }
	if ctx.Err() != nil {
		return none(context.Cause(ctx))
	}
	order := t.order(plan, step)
	if _, err := t.gate.Evaluate(ctx, order); err != nil {
		return none(err)
	}
	pass, err := t.gate.Admit(ctx, order, func(string) {}) // the requester already knows that the plan has begun
	if err != nil {
		return none(err)
	}
	defer pass.End()
	pass.RequirePermission(asked, func(ctx context.Context) (time.Time, error) { return t.permission(ctx, plan) })
	t.log.Info("started", "ref", t.ref, "device", step.Device, "capability", step.Capability)
	return t.act(ctx, pass, step, func(result) {})
}

// add adds the result of one step.
func (r *result) add(step capabilities.Plan, one result) {
	first := len(r.done)+len(r.left) == 0
	if one.err == nil {
		r.done = append(r.done, step.Summary)
	} else {
		r.left = append(r.left, step.Summary)
		r.err = r.with(fmt.Errorf("%s: %w", step.Summary, one.err))
		r.effect = worse(r.effect, one)
	}
	if one.err == nil {
		if first || weaker(one.evidence, r.evidence) {
			r.evidence = one.evidence
		}
		unseen := cmp.Or(one.unseen, one.evidence)
		if first || weaker(unseen, r.unseen) {
			r.unseen = unseen
		}
		r.text = sentences(r.text, one.text)
	}
	r.addYes(step, one, first)
	if len(one.facts) > 0 {
		list, _ := r.facts.Get("steps")
		steps, _ := list.([]any)
		r.facts = r.facts.Set("steps", append(steps, one.facts))
	}
	r.images = append(r.images, one.images...)
	r.late = r.late || one.late
	if failed, _ := r.err.(stepErrors); one.notes != "" && (one.err == nil || len(failed) <= maxTold) {
		r.note("%s", one.notes)
	}
}

// with combines err with the errors of failed steps.
func (r *result) with(err error) error {
	failed, _ := r.err.(stepErrors)
	return append(failed, err)
}

// worse returns the effect of several steps after one has failed. An earlier unknown or partial
// effect remains, for any later result.
func worse(before mess.Effect, one result) mess.Effect {
	effect := cmp.Or(one.effect, mess.EffectUnknown)
	if effect == mess.EffectNone && len(one.done) > 0 {
		effect = mess.EffectPartial
	}
	for _, e := range []mess.Effect{mess.EffectUnknown, mess.EffectPartial} {
		if before == e || effect == e {
			return e
		}
	}
	return effect
}

// levels orders the evidence levels, weakest first.
var levels = map[mess.Evidence]int{mess.EvidenceUnknown: 0, "": 0, mess.Dispatched: 1, mess.Acknowledged: 2, mess.ReadBack: 3, mess.Photographed: 4}

func weaker(a, b mess.Evidence) bool { return b == "" || levels[a] < levels[b] }

// await waits until the start time of a plan.
func (t *task) await(ctx context.Context, plan capabilities.Plan) error {
	left := plan.NotBefore.Sub(t.now())
	if plan.NotBefore.IsZero() || left <= 0 {
		return nil
	}
	s := &mess.Status{Code: mess.Waiting, WaitingFor: &mess.WaitingFor{
		Type: "schedule", ETA: mess.DurationOf(left), AvailableAt: utc(plan.NotBefore), Note: "it begins then",
	}}
	if err := t.tell(ctx, s); err != nil {
		return err
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
