package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// sendEarlierImages sends the images of an earlier thread again. They are no evidence of the
// current state; their time and their ref show their origin.
func (run Run) sendEarlierImages(context.Context) Result {
	thread, _ := run.Plan.Args.Get("thread")
	pictures, _ := run.Plan.Args.Get("pictures")
	list, _ := pictures.([]any)
	r := Result{Evidence: mess.EvidenceUnknown}
	var taken []string
	for _, one := range list {
		image, ok := one.(mess.Object)
		if !ok {
			continue
		}
		r.Earlier = append(r.Earlier, mess.Entry{Type: "image", Value: image.Clone()})
		if at, ok := image.Get("captured_at"); ok && at != "" {
			taken = append(taken, fmt.Sprint(at))
		}
	}
	when := ""
	if len(taken) > 0 {
		when = ", taken at " + strings.Join(taken, " and ")
	}
	r.Text = fmt.Sprintf("The picture of %v again%s. It is not new, and shows how it was then.", thread, when)
	return r
}

// photo takes an image with the camera of the device.
func (run Run) photo(ctx context.Context) Result {
	p, err := run.takeImage(ctx)
	if err != nil {
		return Result{Err: err, Effect: mess.EffectNone}
	}
	r := Result{
		Evidence: mess.Photographed, Images: []Image{{p, run.Device.Name}},
		Text: fmt.Sprintf("A picture from the %s, taken at %s.", run.Device.Label, p.CapturedAt.Format("15:04:05")),
	}
	if r.noteNothingVisible(p) {
		r.Evidence = mess.Acknowledged // the camera sent an image on which nothing is visible
	}
	return r
}

// takeImage captures an image with the device's own camera now.
func (run Run) takeImage(ctx context.Context) (imaging.Image, error) {
	return run.Cameras.Capture(ctx, run.Device.Name, run.Limits, func(ctx context.Context) (drivers.Photo, error) {
		return run.Pass.Photo(ctx, run.Device.Driver.(drivers.Photographer))
	})
}

// wantsImage reports whether the requester wants an image.
func (run Run) wantsImage() bool { return slices.Contains(run.Plan.Want, capabilities.Image) }

// captureAfter captures an image after an act that ended at since: with the device's own camera,
// or on request with the camera that sees it. Without an image it leaves the result unchanged.
func (run Run) captureAfter(ctx context.Context, since time.Time, r *Result) {
	_, hasCamera := run.Device.Driver.(drivers.Photographer)
	var p imaging.Image
	var by string // the camera's display name, if it is another device
	var err error
	name := run.Device.SeenBy
	switch {
	case name != "" && run.wantsImage():
		p, by, err = run.Capture(ctx, name)
	case hasCamera:
		name = run.Device.Name
		p, err = run.takeImage(ctx)
	case run.wantsImage() && len(r.Images) == 0:
		r.Note("there is no picture: no camera sees the %s (seen_by)", run.Device.Label)
		return
	default:
		return
	}
	if err == nil {
		err = imaging.Fresh(p.Photo, since)
	}
	if err != nil {
		r.Note("there is no picture: %v", noImageReason(err))
		return
	}
	r.addImage(mess.Photographed, Image{p, name})
	if by != "" {
		r.Text = wording.Sentences(r.Text, fmt.Sprintf("The picture is from the %s.", by))
	}
}

// noImageReason explains why there is no image. For a halted device, "not started" would be
// confusing.
func noImageReason(err error) error {
	if errors.Is(err, drivers.ErrHalted) || errors.Is(err, drivers.ErrNotStarted) {
		return errors.New("it has halted, and has no image until its next start")
	}
	return err
}

// observe reads the items that the device recognizes, and captures an image if possible.
func (run Run) observe(ctx context.Context) Result {
	o, knows := run.Device.Driver.(drivers.Observer)
	if !knows {
		return run.photo(ctx)
	}
	since := run.Now()
	seen, err := run.Pass.Observe(ctx, o)
	if err != nil {
		return Result{Err: err, Effect: mess.EffectNone}
	}
	r := Result{Evidence: mess.ReadBack, Text: seen.Text, Facts: factsOf(seen.Facts)}
	run.yesFromFacts(ctx, &r, seen.Facts)
	if age := run.Now().Sub(seen.At); !seen.At.IsZero() && age >= wording.Stale {
		r.Note("its observations are %v old", age.Round(time.Second))
	}
	if _, ok := run.Device.Driver.(drivers.Photographer); ok {
		p, err := run.takeImage(ctx)
		if err != nil {
			r.Note("there is no picture: %v", err)
			return r
		}
		r.addImage(mess.Photographed, Image{p, run.Device.Name})
	} else if run.wantsImage() {
		run.captureAfter(ctx, since, &r)
	}
	return r
}

// readState reads a device and adds an image on request.
func (run Run) readState(ctx context.Context) Result {
	since := run.Now()
	r := run.read(ctx)
	if r.Err == nil && run.wantsImage() {
		run.captureAfter(ctx, since, &r)
	}
	return r
}

// read describes the state in a sentence, or only the quantity that the plan names.
func (run Run) read(ctx context.Context) Result {
	r := Result{Evidence: mess.ReadBack, Facts: mess.Object{{Key: "device", Value: run.Device.Name}}}
	wanted, _ := run.Plan.Args.Get("quantity")
	quantity, _ := wanted.(string)
	if reader, ok := run.Device.Driver.(drivers.SwitchReader); ok && quantity == "" {
		on, err := run.Pass.On(ctx, reader)
		if err != nil {
			return Result{Err: err, Effect: mess.EffectNone}
		}
		r.Text, r.Facts = run.switchText(on), r.Facts.Set("on", on)
		run.setYes(&r, "on", on)
		r.Facts = append(r.Facts, wording.Aged(run.Now(), run.Now(), run.ClockMark)...)
	}
	sensor, ok := run.Device.Driver.(drivers.Sensor)
	switch {
	case ok:
		return run.measure(ctx, sensor, quantity, r)
	case quantity != "":
		return Result{Err: fmt.Errorf("%s measures no %s", run.Device.Name, quantity), Effect: mess.EffectNone}
	}
	return r
}

// measure adds the measurements of a sensor to r.
func (run Run) measure(ctx context.Context, s drivers.Sensor, quantity string, r Result) Result {
	readings, err := run.Pass.Read(ctx, s)
	switch {
	case errors.Is(err, drivers.ErrNoReading) && r.Text != "": // a plug without a meter
		return r
	case err != nil && r.Text != "" && ctx.Err() == nil: // its on state is known
		r.Note("the agent could not read its measurements: %v", err)
		return r
	case err != nil:
		return Result{Err: err, Effect: mess.EffectNone}
	}
	if quantity != "" {
		all := readings
		readings = slices.DeleteFunc(slices.Clone(all), func(m drivers.Reading) bool { return m.Quantity != quantity })
		if len(readings) == 0 {
			return Result{Err: fmt.Errorf("%s measures no %s now; it measures: %s", run.Device.Name, quantity, quantities(all)), Effect: mess.EffectNone}
		}
	}
	if slices.ContainsFunc(readings, func(m drivers.Reading) bool { return m.Estimated }) {
		r.Evidence = mess.Acknowledged
	}
	run.yesFromMeasurements(&r, readings)
	r.Text = wording.Sentences(r.Text, run.measurementsText(readings))
	r.Facts = append(r.Facts, run.measurements(readings)...)
	return r
}
