package agent

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
func (v verbs) press(ctx context.Context) result {
	reader, reads := v.dev.Driver.(drivers.PressReader)
	var before drivers.Pressed
	if reads {
		var err error
		if before, err = v.pass.Pressed(ctx, reader); err != nil {
			return result{err: err, effect: mess.EffectNone}
		}
	}
	err := v.pass.Press(ctx, v.dev.Driver.(drivers.Presser))
	done := "activated"
	if _, line := v.dev.Driver.(drivers.Switch); line {
		done = "pressed and released"
	}
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true),
		text:  fmt.Sprintf("The %s has been %s.", v.dev.Label, done),
		facts: mess.Object{{Key: "device", Value: v.dev.Name}},
	}
	if r.effect == mess.EffectNone {
		return r
	}
	since := v.now()
	v.acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	if reads {
		v.readPressed(ctx, reader, before, &r)
	}
	if r.err == nil {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// readPressed corrects the result by the reported time of the last trigger.
func (v verbs) readPressed(ctx context.Context, reader drivers.PressReader, before drivers.Pressed, r *result) {
	is, err := settled(ctx, r, func(is drivers.Pressed) bool { return is.At.After(before.At) }, func() (drivers.Pressed, error) { return v.pass.Pressed(ctx, reader) })
	switch newer := is.At.After(before.At); {
	case err != nil:
		r.unread(err)
	case newer && r.err != nil:
		r.note("it says that it was set off at %s, and not how far it went", is.At.UTC().Format(time.RFC3339))
	case newer:
		r.evidence = mess.ReadBack
		r.facts = append(r.facts, mess.Field{Key: "runs", Value: is.Runs})
		if is.Runs {
			r.note("it is at it still")
		}
	case r.err == nil:
		r.note("it does not say that it was set off now")
	}
}
