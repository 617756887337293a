package agent

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// atTarget reports whether a thermostat has the requested target, within its precision.
func atTarget(is, want float64) bool { return math.Abs(is-want) <= drivers.TargetWithin }

// heatTo sets the target temperature of a thermostat and reads it back if possible. A
// thermostat that is off stays off, and the result notes that it does not heat.
func (v verbs) heatTo(ctx context.Context) result {
	want, ok := percentOf(v.plan.Args, "temperature")
	if !ok {
		return result{err: fmt.Errorf("%s: the plan does not say to what temperature", v.dev.Name), effect: mess.EffectNone}
	}
	err := v.pass.SetTarget(ctx, v.dev.Driver.(drivers.Thermostat), want)
	r := result{err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true)}
	r.keeps(v, want)
	if r.effect == mess.EffectNone {
		return r
	}
	since := v.now()
	v.acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	if reader, reads := v.dev.Driver.(drivers.TargetReader); reads {
		is, err := settled(ctx, &r, func(is float64) bool { return atTarget(is, want) }, func() (float64, error) { return v.pass.Target(ctx, reader) })
		so := err == nil && atTarget(is, want)
		r.readsBack(v.dev.Name, so, fmt.Sprintf("set to %s °C", rounded(is)), err)
		if so {
			r.keeps(v, is)
		}
	}
	if r.err != nil {
		return r
	}
	if reader, reads := v.dev.Driver.(drivers.SwitchReader); reads {
		if on, err := v.pass.On(ctx, reader); err == nil && !on {
			r.note("it is off, and keeps that temperature only when it is turned on")
		}
	}
	v.lookAgain(ctx, since, &r)
	return r
}

// keeps records the target of a thermostat in the result.
func (r *result) keeps(v verbs, celsius float64) {
	r.text = fmt.Sprintf("The %s is set to %s °C.", v.dev.Label, rounded(celsius))
	r.facts = mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "temperature", Value: mess.Number(number(celsius))}}
}
