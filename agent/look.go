package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

func (v verbs) photo(ctx context.Context) result {
	p, err := v.pass.Photo(ctx, v.dev.Driver.(drivers.Photographer))
	if err != nil {
		return result{err: err, effect: mess.EffectNone}
	}
	return result{
		evidence: mess.Photographed, images: []shot{{p, v.dev.Name}},
		text: fmt.Sprintf("A picture from the %s, taken at %s.", v.dev.Label, p.CapturedAt.Format("15:04:05")),
	}
}

// observe asks the device what it knows, and takes a picture where it can.
func (v verbs) observe(ctx context.Context) result {
	o, knows := v.dev.Driver.(drivers.Observer)
	if !knows {
		return v.photo(ctx)
	}
	seen, err := v.pass.Observe(ctx, o)
	if err != nil {
		return result{err: err, effect: mess.EffectNone}
	}
	r := result{evidence: mess.ReadBack, text: seen.Text, facts: facts(seen.Facts)}
	if c, ok := v.dev.Driver.(drivers.Photographer); ok {
		p, err := v.pass.Photo(ctx, c)
		if err != nil {
			r.notes = "there is no picture: " + err.Error()
			return r
		}
		r.evidence, r.images = mess.Photographed, []shot{{p, v.dev.Name}}
	}
	return r
}

// read says in a sentence how things are. Where the plan names a quantity, it
// is that alone.
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

// measure adds to r what a sensor measures.
func (v verbs) measure(ctx context.Context, s drivers.Sensor, quantity string, r result) result {
	readings, err := v.pass.Read(ctx, s)
	if err != nil {
		return result{err: err, effect: mess.EffectNone}
	}
	if quantity != "" {
		all := readings
		readings = slices.DeleteFunc(slices.Clone(all), func(m drivers.Reading) bool { return m.Quantity != quantity })
		if len(readings) == 0 {
			return result{err: fmt.Errorf("%s measures no %s now; it measures: %s", v.dev.Name, quantity, quantities(all)), effect: mess.EffectNone}
		}
	}
	r.text = sentences(r.text, v.measured(readings))
	r.facts = append(r.facts, measurements(readings)...)
	return r
}
