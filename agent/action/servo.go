package action

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// angleWithin is the tolerated difference from the commanded angle, in degrees.
const angleWithin = 2

// turnToAngle turns a servo and reads back its angle if possible.
func (run Run) turnToAngle(ctx context.Context) Result {
	degrees, ok := percentOf(run.Plan.Args, "angle")
	if !ok {
		return Result{Err: fmt.Errorf("%s: the plan does not say to what angle", run.Device.Name), Effect: mess.EffectNone}
	}
	err := run.Pass.TurnTo(ctx, run.Device.Driver.(drivers.Turner), degrees)
	r := Result{
		Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true),
		Text:  fmt.Sprintf("The %s is turned to %s degrees.", run.Device.Label, wording.Number(degrees)),
		Facts: mess.Object{{Key: "device", Value: run.Device.Name}, {Key: "angle", Value: mess.Number(wording.Number(degrees))}},
	}
	if r.Effect == mess.EffectNone {
		return r
	}
	since := run.Now()
	run.Acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	reader, reads := run.Device.Driver.(drivers.AngleReader)
	if !reads {
		if r.Err == nil {
			r.Note("it does not tell where it stands; it was given the time that it needs")
			run.lookAgain(ctx, since, &r)
		}
		return r
	}
	there := func(is float64) bool { return math.Abs(is-degrees) <= angleWithin }
	is, err := settled(ctx, &r, there, func() (float64, error) { return run.Pass.Angle(ctx, reader) })
	r.readsBack(run.Device.Name, there(is), wording.Rounded(is)+" degrees", err)
	if r.Err == nil {
		run.lookAgain(ctx, since, &r)
	}
	return r
}
