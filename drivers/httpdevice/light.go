package httpdevice

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
)

// light returns the light of the template, or nil.
func (d *device) light() *family.Light {
	s := d.template.Switch
	l := family.Light{Dim: d.dim, Level: d.level, Tint: d.tint, Colour: d.colour}.Only(s.Dim != nil, s.Tint != nil)
	if l != nil && s.White != nil {
		l.White = &family.White{Warm: d.warm, Warmth: d.warmth}
		l.White.Warmest, l.White.Coldest, _ = s.White.Limits(d.values) // New has checked the limits
	}
	return l
}

func (d *device) warm(ctx context.Context, kelvin float64) error {
	s := d.template.Switch.White
	return d.act(ctx, s.Calls, d.values.With(s.Words(kelvin)))
}

func (d *device) warmth(ctx context.Context) (float64, error) {
	s := d.template.Switch.White
	body, err := d.ask(ctx, Call{Get: s.Get}, d.values)
	if err != nil {
		return 0, err
	}
	answer, err := family.Parse(body)
	if err != nil {
		return 0, err
	}
	found, _ := family.Pick(answer, d.values.Text(s.Value))
	return s.Kelvin(d.values, answer, found)
}

// dim sets a level above 0, and at least the lowest level of the device, because 0 would
// turn it off.
func (d *device) dim(ctx context.Context, percent float64) error {
	s := d.template.Switch.Dim
	level := max(1, math.Round(percent*s.Full/100))
	return d.act(ctx, s.Calls, d.values.With(family.Values{"level": strconv.FormatFloat(level, 'f', -1, 64)}))
}

func (d *device) level(ctx context.Context) (float64, error) {
	on, err := d.on(ctx)
	if err != nil || !on {
		return 0, err
	}
	s := d.template.Switch.Dim
	found, err := d.find(ctx, s.Get, s.Value)
	if err != nil {
		return 0, err
	}
	f, number := family.Number(found)
	if !number || f < 0 || f > s.Full {
		return 0, fmt.Errorf("the answer of the device has no level at %s", s.Value)
	}
	return math.Round(100 * f / s.Full), nil
}

func (d *device) tint(ctx context.Context, c drivers.Color) error {
	word := func(part uint8) string { return strconv.Itoa(int(part)) }
	return d.act(ctx, d.template.Switch.Tint.Calls, d.values.With(family.Values{"red": word(c.R), "green": word(c.G), "blue": word(c.B)}))
}

func (d *device) colour(ctx context.Context) (drivers.Color, error) {
	s := d.template.Switch.Tint
	found, err := d.find(ctx, s.Get, s.Value)
	if err != nil {
		return drivers.Color{}, err
	}
	list, _ := found.([]any)
	var parts [3]uint8
	for i := range parts {
		if i >= len(list) {
			return drivers.Color{}, fmt.Errorf("the answer of the device has no color at %s", s.Value)
		}
		f, number := family.Number(list[i])
		if !number || f < 0 || f > math.MaxUint8 || f != math.Trunc(f) {
			return drivers.Color{}, fmt.Errorf("the answer of the device has no color at %s", s.Value)
		}
		parts[i] = uint8(f)
	}
	return drivers.Color{R: parts[0], G: parts[1], B: parts[2]}, nil
}

// find sends a request and returns a value of its answer.
func (d *device) find(ctx context.Context, path, where string) (any, error) {
	body, err := d.ask(ctx, Call{Get: path}, d.values)
	if err != nil {
		return nil, err
	}
	answer, err := family.Parse(body)
	if err != nil {
		return nil, err
	}
	found, ok := family.Pick(answer, d.values.Text(where))
	if !ok {
		return nil, fmt.Errorf("the answer of the device has no %s", where)
	}
	return found, nil
}
