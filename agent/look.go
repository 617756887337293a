package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

func (v verbs) photo(ctx context.Context) result {
	p, err := v.shoot(ctx)
	if err != nil {
		return result{err: err, effect: mess.EffectNone}
	}
	r := result{
		evidence: mess.Photographed, images: []shot{{p, v.dev.Name}},
		text: fmt.Sprintf("A picture from the %s, taken at %s.", v.dev.Label, p.CapturedAt.Format("15:04:05")),
	}
	if r.dark(p) {
		r.evidence = mess.Acknowledged // the camera sent an image on which nothing is visible
	}
	return r
}

// shoot captures an image with the device's own camera now.
func (v verbs) shoot(ctx context.Context) (imaging.Image, error) {
	return v.cameras.Capture(ctx, v.dev.Name, v.limits, func(ctx context.Context) (drivers.Photo, error) {
		return v.pass.Photo(ctx, v.dev.Driver.(drivers.Photographer))
	})
}

// wanted reports whether the requester wants an image.
func (v verbs) wanted() bool { return slices.Contains(v.plan.Want, capabilities.Image) }

// lookAgain captures an image after an act that ended at since: with the device's own camera,
// or on request with the camera that sees it. Without an image it leaves the result unchanged.
func (v verbs) lookAgain(ctx context.Context, since time.Time, r *result) {
	_, eye := v.dev.Driver.(drivers.Photographer)
	var p imaging.Image
	var by string // the camera's display name, if it is another device
	var err error
	name := v.dev.SeenBy
	switch {
	case name != "" && v.wanted():
		p, by, err = v.see(ctx, name)
	case eye:
		name = v.dev.Name
		p, err = v.shoot(ctx)
	case v.wanted() && len(r.images) == 0:
		r.note("there is no picture: no camera sees the %s (seen_by)", v.dev.Label)
		return
	default:
		return
	}
	if err == nil {
		err = imaging.Fresh(p.Photo, since)
	}
	if err != nil {
		r.note("there is no picture: %v", unseen(err))
		return
	}
	r.pictured(mess.Photographed, shot{p, name})
	if by != "" {
		r.text = sentences(r.text, fmt.Sprintf("The picture is from the %s.", by))
	}
}

// unseen explains why there is no image. For a halted device, "not started" would be confusing.
func unseen(err error) error {
	if errors.Is(err, drivers.ErrHalted) || errors.Is(err, drivers.ErrNotStarted) {
		return errors.New("it was halted, and shows nothing until it is started again")
	}
	return err
}

// observe reads the items that the device recognizes, and captures an image if possible.
func (v verbs) observe(ctx context.Context) result {
	o, knows := v.dev.Driver.(drivers.Observer)
	if !knows {
		return v.photo(ctx)
	}
	since := v.now()
	seen, err := v.pass.Observe(ctx, o)
	if err != nil {
		return result{err: err, effect: mess.EffectNone}
	}
	r := result{evidence: mess.ReadBack, text: seen.Text, facts: facts(seen.Facts)}
	v.observedYes(ctx, &r, seen.Facts)
	if age := v.now().Sub(seen.At); !seen.At.IsZero() && age >= stale {
		r.note("this is what it knew %v ago", age.Round(time.Second))
	}
	if _, ok := v.dev.Driver.(drivers.Photographer); ok {
		p, err := v.shoot(ctx)
		if err != nil {
			r.note("there is no picture: %v", err)
			return r
		}
		r.pictured(mess.Photographed, shot{p, v.dev.Name})
	} else if v.wanted() {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// readAndLook reads a device and adds an image on request.
func (v verbs) readAndLook(ctx context.Context) result {
	since := v.now()
	r := v.read(ctx)
	if r.err == nil && v.wanted() {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// read describes the state in a sentence, or only the quantity that the plan names.
func (v verbs) read(ctx context.Context) result {
	r := result{evidence: mess.ReadBack, facts: mess.Object{{Key: "device", Value: v.dev.Name}}}
	wanted, _ := v.plan.Args.Get("quantity")
	quantity, _ := wanted.(string)
	if reader, ok := v.dev.Driver.(drivers.SwitchReader); ok && quantity == "" {
		on, err := v.pass.On(ctx, reader)
		if err != nil {
			return result{err: err, effect: mess.EffectNone}
		}
		r.text, r.facts = v.state(on), r.facts.Set("on", on)
		v.answers(&r, "on", on)
		r.facts = append(r.facts, aged(v.now(), v.now(), v.clock)...)
	}
	sensor, ok := v.dev.Driver.(drivers.Sensor)
	switch {
	case ok:
		return v.measure(ctx, sensor, quantity, r)
	case quantity != "":
		return result{err: fmt.Errorf("%s measures no %s", v.dev.Name, quantity), effect: mess.EffectNone}
	}
	return r
}

// measure adds the measurements of a sensor to r.
func (v verbs) measure(ctx context.Context, s drivers.Sensor, quantity string, r result) result {
	readings, err := v.pass.Read(ctx, s)
	switch {
	case errors.Is(err, drivers.ErrNoReading) && r.text != "": // a plug without a meter
		return r
	case err != nil && r.text != "" && ctx.Err() == nil: // its on state is known
		r.note("what it measures could not be read: %v", err)
		return r
	case err != nil:
		return result{err: err, effect: mess.EffectNone}
	}
	if quantity != "" {
		all := readings
		readings = slices.DeleteFunc(slices.Clone(all), func(m drivers.Reading) bool { return m.Quantity != quantity })
		if len(readings) == 0 {
			return result{err: fmt.Errorf("%s measures no %s now; it measures: %s", v.dev.Name, quantity, quantities(all)), effect: mess.EffectNone}
		}
	}
	if slices.ContainsFunc(readings, func(m drivers.Reading) bool { return m.Estimated }) {
		r.evidence = mess.Acknowledged
	}
	v.measuredYes(&r, readings)
	r.text = sentences(r.text, v.measured(readings))
	r.facts = append(r.facts, v.measurements(readings)...)
	return r
}
