package action

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// press triggers a button, a scene or a script once. It reads back whether the device reports a
// later time than before. Without an acknowledgement the effect is unknown, for any reported
// time.
func (run Run) press(ctx context.Context) Result {
	reader, reads := run.Device.Driver.(drivers.PressReader)
	var before drivers.Pressed
	if reads {
		var err error
		if before, err = run.Pass.Pressed(ctx, reader); err != nil {
			return Result{Err: err, Effect: mess.EffectNone}
		}
	}
	err := run.Pass.Press(ctx, run.Device.Driver.(drivers.Presser))
	done := "activated"
	if _, line := run.Device.Driver.(drivers.Switch); line {
		done = "pressed and released"
	}
	r := Result{
		Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true),
		Text:  fmt.Sprintf("The %s has been %s.", run.Device.Label, done),
		Facts: mess.Object{{Key: "device", Value: run.Device.Name}},
	}
	if r.Effect == mess.EffectNone {
		return r
	}
	since := run.Now()
	run.Acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	if reads {
		run.readPressed(ctx, reader, before, &r)
	}
	if r.Err == nil {
		run.lookAgain(ctx, since, &r)
	}
	return r
}

// readPressed corrects the result by the reported time of the last trigger.
func (run Run) readPressed(ctx context.Context, reader drivers.PressReader, before drivers.Pressed, r *Result) {
	is, err := settled(ctx, r, func(is drivers.Pressed) bool { return is.At.After(before.At) }, func() (drivers.Pressed, error) { return run.Pass.Pressed(ctx, reader) })
	switch newer := is.At.After(before.At); {
	case err != nil:
		r.unread(err)
	case newer && r.Err != nil:
		r.Note("it says that it was set off at %s, and not how far it went", is.At.UTC().Format(time.RFC3339))
	case newer:
		r.Evidence = mess.ReadBack
		r.Facts = append(r.Facts, mess.Field{Key: "runs", Value: is.Runs})
		if is.Runs {
			r.Note("it is at it still")
		}
	case r.Err == nil:
		r.Note("it does not say that it was set off now")
	}
}
