package action

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// atTarget reports whether a thermostat has the requested target, within its precision.
func atTarget(is, want float64) bool { return math.Abs(is-want) <= drivers.TargetTolerance }

// setTemperature sets the target temperature of a thermostat and reads it back if possible. A
// thermostat that is off stays off, and the result notes that it does not heat.
func (run Run) setTemperature(ctx context.Context) Result {
	want, ok := numberArg(run.Plan.Args, "temperature")
	if !ok {
		return Result{Err: fmt.Errorf("%s: the plan has no temperature", run.Device.Name), Effect: mess.EffectNone}
	}
	err := run.Pass.SetTarget(ctx, run.Device.Driver.(drivers.Thermostat), want)
	r := Result{Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true)}
	r.setTarget(run, want)
	return run.afterAct(ctx, r, func(ctx context.Context, since time.Time, r *Result) {
		if reader, reads := run.Device.Driver.(drivers.TargetReader); reads {
			is, err := readUntil(ctx, r, func(is float64) bool { return atTarget(is, want) }, func() (float64, error) { return run.Pass.Target(ctx, reader) })
			reached := err == nil && atTarget(is, want)
			r.applyReadback(run.Device.Name, reached, fmt.Sprintf("set to %s °C", wording.Rounded(is)), err)
			if reached {
				r.setTarget(run, is)
			}
		}
		if r.Err != nil {
			return
		}
		if reader, reads := run.Device.Driver.(drivers.SwitchReader); reads {
			if on, err := run.Pass.On(ctx, reader); err == nil && !on {
				r.Note("it is off, and keeps that temperature only when it is on")
			}
		}
		run.captureAfter(ctx, since, r)
	})
}

// setTarget records the target of a thermostat in the result.
func (r *Result) setTarget(run Run, celsius float64) {
	r.Text = fmt.Sprintf("The %s is set to %s °C.", run.Device.Label, wording.Rounded(celsius))
	r.Facts = mess.Object{{Key: "device", Value: run.Device.Name}, {Key: "temperature", Value: mess.Number(wording.Number(celsius))}}
}

// angleWithin is the tolerated difference from the commanded angle, in degrees.
const angleWithin = 2

// setAngle turns a servo and reads back its angle if possible.
func (run Run) setAngle(ctx context.Context) Result {
	degrees, ok := numberArg(run.Plan.Args, "angle")
	if !ok {
		return Result{Err: fmt.Errorf("%s: the plan has no angle", run.Device.Name), Effect: mess.EffectNone}
	}
	err := run.Pass.TurnTo(ctx, run.Device.Driver.(drivers.Turner), degrees)
	r := run.resultOf(err, fmt.Sprintf("The %s has turned to %s degrees.", run.Device.Label, wording.Number(degrees)), "angle", mess.Number(wording.Number(degrees)))
	return run.afterAct(ctx, r, func(ctx context.Context, since time.Time, r *Result) {
		read := readAngle(run.Device.Driver, degrees)
		if read == nil && r.Err == nil {
			r.Note("it does not report its angle; the agent waited for the time that it needs")
		}
		run.readBack(ctx, r, read)
		if r.Err == nil {
			run.captureAfter(ctx, since, r)
		}
	})
}
