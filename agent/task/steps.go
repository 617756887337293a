package task

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// maxConcurrent limits the steps of one plan that run concurrently, each on its own device. An
// unreachable lamp takes seconds to fail, so forty lamps in sequence would take long.
const maxConcurrent = 8

// concurrentCommands lists the commands that may run concurrently on different devices. Cleaning,
// moving, printing and capturing images run one after the other.
var concurrentCommands = []capabilities.Command{
	capabilities.SetSwitch, capabilities.Dim, capabilities.SetColor, capabilities.SetColorTemperature, capabilities.SetTemperature,
	capabilities.Open, capabilities.Close, capabilities.OpenTo, capabilities.Lock, capabilities.ReadState,
}

// hasIndependentSteps reports whether the steps of a plan are independent: one order for several
// devices, none of which depends on another.
func (t *task) hasIndependentSteps(plan capabilities.Plan) bool {
	if plan.Capability == capabilities.SeveralCapabilities || slices.Contains(plan.Want, capabilities.Image) {
		return false
	}
	seen := map[string]bool{}
	for _, step := range plan.Steps {
		if step.After > 0 || seen[step.Device] || !slices.Contains(concurrentCommands, step.Command) || len(t.Gate.DependsOn(step.Device)) > 0 {
			return false
		}
		seen[step.Device] = true
	}
	return true
}

// performConcurrently carries out independent steps concurrently and returns their results in the
// order of the plan.
func (t *task) performConcurrently(ctx context.Context, asked time.Time, plan capabilities.Plan) []action.Result {
	results := make([]action.Result, len(plan.Steps))
	var g errgroup.Group
	g.SetLimit(maxConcurrent)
	for i, step := range plan.Steps {
		g.Go(func() error {
			results[i] = t.performStep(ctx, asked, plan, step)
			return nil
		})
	}
	_ = g.Wait() // the results hold the errors
	return results
}

// combineDecisions combines the decisions on the steps of a plan.
func combineDecisions(a, b policy.Decision) policy.Decision {
	if b.Confirm == settings.ConfirmOperator || b.Confirm == settings.ConfirmRequester && a.Confirm != settings.ConfirmOperator {
		a.Confirm = b.Confirm
	}
	a.Confirm = cmp.Or(a.Confirm, settings.ConfirmNever)
	a.SwitchOffs = append(a.SwitchOffs, b.SwitchOffs...)
	a.Conditions = append(a.Conditions, b.Conditions...)
	return a
}

// checkSteps checks whether every step of a plan could begin now.
func (t *task) checkSteps(ctx context.Context, plan capabilities.Plan) (policy.Decision, error) {
	var all policy.Decision
	for _, step := range plan.Each() {
		v, err := t.all.checkPlan(ctx, t.policyOrder(plan, step))
		if err != nil {
			return v, err
		}
		all = combineDecisions(all, v)
	}
	return all, nil
}

// performSteps carries out a plan with steps. It gets one start permission and writes one
// intent for all steps, and each step passes the safety policy separately.
func (t *task) performSteps(ctx context.Context, plan capabilities.Plan) error {
	t.steps = steps{left: summaries(plan.Steps)}
	asked, err := t.start(ctx, plan, withoutNotes)
	if err != nil {
		return err
	}
	t.began = t.Now()
	var all action.Result
	var completed []capabilities.Plan
	concurrent, results := t.hasIndependentSteps(plan), []action.Result(nil)
	if concurrent {
		results = t.performConcurrently(ctx, asked, plan)
	}
	for i, step := range plan.Steps {
		var r action.Result
		if concurrent {
			r = results[i]
		} else {
			wait.For(ctx, step.After) // the step reports the end of ctx
			if i > 0 && step.Command.IsWait() {
				t.storeCompletedSteps(ctx, plan, all)
			}
			r = t.performStep(ctx, asked, plan, step)
		}
		if r.Continues && t.completed != nil {
			return nil // the thread stays open, and the next run continues to wait
		}
		all.Add(step, r)
		if r.Err == nil {
			completed = append(completed, step)
		}
		if !concurrent {
			t.reportSteps(ctx, all.Done, plan.Steps[i+1:])
		}
		if r.Err != nil && !concurrent && (ctx.Err() != nil || plan.Capability == capabilities.SeveralCapabilities) {
			for _, rest := range plan.Steps[i+1:] { // later steps may depend on it
				all.Remaining = append(all.Remaining, rest.Summary)
			}
			break
		}
	}
	t.ended = t.Now()
	for _, step := range completed {
		if how := action.AtProgramEnd(t.Devices, step); how != "" && runtime.ProgramEnds(ctx) {
			all.Note("%s", how)
		}
	}
	if all.Err == nil {
		all.Done, all.Remaining = nil, nil // it is complete
	}
	t.reportResult(ctx, func() {}, plan, all)
	return nil
}

// steps holds the steps of a plan in words, for reports to the requester.
type steps struct {
	done, left []string
	reported   time.Time // time of the last report
}

func summaries(plans []capabilities.Plan) (list []string) {
	for _, p := range plans {
		list = append(list, p.Summary)
	}
	return list
}

// reportSteps reports the completed and the remaining steps before another step. It delays a step
// only briefly and does not repeat a failed report.
func (t *task) reportSteps(ctx context.Context, done []string, left []capabilities.Plan) {
	t.steps.done, t.steps.left = done, summaries(left)
	now := t.Now()
	if len(left) == 0 || left[0].After == 0 && now.Sub(t.began) < progressEvery {
		return
	}
	if now.Sub(t.steps.reported) < progressEvery {
		return
	}
	t.steps.reported = now
	ctx, cancel := context.WithTimeout(ctx, progressEvery)
	defer cancel()
	s := &mess.Status{Code: mess.InProgress, Message: left[0].Summary, Completed: wording.AnyList(t.steps.done), Remaining: wording.AnyList(t.steps.left)}
	if _, err := t.Session.Send(ctx, t.message(s)); err != nil {
		t.Log.Debug("the exchange has not received the completed steps", "ref", t.ref, "err", err)
	}
}

// performStep carries out one step.
func (t *task) performStep(ctx context.Context, asked time.Time, plan, step capabilities.Plan) action.Result {
	none := func(err error) action.Result { return action.Result{Err: err, Effect: mess.EffectNone} }
	if ctx.Err() != nil {
		return none(context.Cause(ctx))
	}
	order := t.policyOrder(plan, step)
	if _, err := t.Gate.Evaluate(ctx, order); err != nil {
		return none(err)
	}
	pass, err := t.Gate.Admit(ctx, order, func(string) {}) // the requester already knows that the plan has begun
	if err != nil {
		return none(err)
	}
	defer pass.End()
	pass.RequirePermission(asked, func(ctx context.Context) (time.Time, error) { return t.permission(ctx, plan) })
	t.Log.Info("started", "ref", t.ref, "device", step.Device, "capability", step.Capability)
	return t.act(ctx, pass, step, func(action.Result) {})
}

// waitUntilStart waits until the start time of a plan.
func (t *task) waitUntilStart(ctx context.Context, plan capabilities.Plan) error {
	left := plan.NotBefore.Sub(t.Now())
	if plan.NotBefore.IsZero() || left <= 0 {
		return nil
	}
	s := &mess.Status{Code: mess.Waiting, WaitingFor: &mess.WaitingFor{
		Type: "schedule", ETA: mess.DurationOf(left), AvailableAt: wording.UTC(plan.NotBefore), Note: "it begins then",
	}}
	if err := t.sendStatus(ctx, s); err != nil {
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
