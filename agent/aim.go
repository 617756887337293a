package agent

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// angleWithin is the tolerated difference from the commanded angle, in degrees.
const angleWithin = 2

// turnToAngle turns a servo and reads back its angle if possible.
func (v verbs) turnToAngle(ctx context.Context) result {
	degrees, ok := percentOf(v.plan.Args, "angle")
	if !ok {
		return result{err: fmt.Errorf("%s: the plan does not say to what angle", v.dev.Name), effect: mess.EffectNone}
	}
	err := v.pass.TurnTo(ctx, v.dev.Driver.(drivers.Turner), degrees)
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true),
		text:  fmt.Sprintf("The %s is turned to %s degrees.", v.dev.Label, number(degrees)),
		facts: mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "angle", Value: mess.Number(number(degrees))}},
	}
	if r.effect == mess.EffectNone {
		return r
	}
	since := v.now()
	v.acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	reader, reads := v.dev.Driver.(drivers.AngleReader)
	if !reads {
		if r.err == nil {
			r.note("it does not tell where it stands; it was given the time that it needs")
			v.lookAgain(ctx, since, &r)
		}
		return r
	}
	there := func(is float64) bool { return math.Abs(is-degrees) <= angleWithin }
	is, err := settled(ctx, &r, there, func() (float64, error) { return v.pass.Angle(ctx, reader) })
	r.readsBack(v.dev.Name, there(is), rounded(is)+" degrees", err)
	if r.err == nil {
		v.lookAgain(ctx, since, &r)
	}
	return r
}
