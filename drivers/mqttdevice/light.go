package mqttdevice

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

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
	words := s.Words(kelvin)
	return d.order(ctx, s.Messages, d.values.With(words), *s.State, func(payload []byte) (bool, string, error) {
		is, err := s.read(d.values, payload)
		return err == nil && family.Near(is, kelvin), fmt.Sprintf("%.0f K", is), err
	}, words["kelvin"]+" K")
}

func (d *device) warmth(ctx context.Context) (float64, error) {
	s := d.template.Switch.White
	h, err := d.told(ctx, *s.State)
	if err != nil {
		return 0, err
	}
	return s.read(d.values, h.Payload)
}

// read returns the color temperature in a payload, in kelvin.
func (s *White) read(values family.Values, payload []byte) (float64, error) {
	found, err := s.State.in(values, payload)
	if err != nil {
		return 0, err
	}
	var answer any
	if s.Mode != "" {
		if answer, err = family.Parse(bytes.TrimSpace(payload)); err != nil {
			return 0, err
		}
	}
	return s.Kelvin(values, answer, found)
}

// dim sets a level above 0, and at least the lowest level of the device, because 0 would
// turn it off.
func (d *device) dim(ctx context.Context, percent float64) error {
	s := d.template.Switch.Dim
	level := max(1, math.Round(percent*s.Full/100))
	word := strconv.FormatFloat(level, 'f', -1, 64)
	return d.order(ctx, s.Messages, d.values.With(family.Values{"level": word}), *s.State, func(payload []byte) (bool, string, error) {
		is, err := s.read(d.values, payload)
		return math.Abs(is-level) <= s.Full/100, "level " + strconv.FormatFloat(is, 'f', -1, 64), err // many devices round
	}, "level "+word)
}

// level returns 0 for a lamp that is off, no matter which level it reports.
func (d *device) level(ctx context.Context) (float64, error) {
	on, err := d.on(ctx)
	if err != nil || !on {
		return 0, err
	}
	s := d.template.Switch.Dim
	h, err := d.told(ctx, *s.State)
	if err != nil {
		return 0, err
	}
	is, err := s.read(d.values, h.Payload)
	return math.Round(100 * is / s.Full), err
}

// read returns the level in a payload, 0 to Full.
func (s *Dim) read(values family.Values, payload []byte) (float64, error) {
	found, err := s.State.in(values, payload)
	if err != nil {
		return 0, err
	}
	f, number := family.Number(found)
	if !number || f < 0 || f > s.Full {
		return 0, fmt.Errorf("the device reports no level from 0 to %g", s.Full)
	}
	return f, nil
}

func (d *device) tint(ctx context.Context, c drivers.Color) error {
	word := func(part uint8) string { return strconv.Itoa(int(part)) }
	s := d.template.Switch.Tint
	values := d.values.With(family.Values{"red": word(c.R), "green": word(c.G), "blue": word(c.B), "hex": strings.TrimPrefix(c.String(), "#")})
	return d.order(ctx, s.Messages, values, *s.State, func(payload []byte) (bool, string, error) {
		is, err := s.read(d.values, payload)
		return is == c, is.String(), err
	}, c.String())
}

func (d *device) colour(ctx context.Context) (drivers.Color, error) {
	s := d.template.Switch.Tint
	h, err := d.told(ctx, *s.State)
	if err != nil {
		return drivers.Color{}, err
	}
	return s.read(d.values, h.Payload)
}

// read returns the color in a payload.
func (s *Tint) read(values family.Values, payload []byte) (drivers.Color, error) {
	found, err := s.State.in(values, payload)
	if err != nil {
		return drivers.Color{}, err
	}
	c, ok := colourOf(found)
	if !ok {
		return drivers.Color{}, fmt.Errorf("the device reports no color: %.40q", fmt.Sprint(found))
	}
	return c, nil
}

// colourOf parses the color notations of devices: [255, 136, 0], {r: 255, g: 136, b: 0},
// "FF8800" with a suffix, or "rgb,255,136,0".
func colourOf(v any) (drivers.Color, bool) {
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case map[string]any:
		parts = []any{v["r"], v["g"], v["b"]}
	case string:
		if rest, ok := strings.CutPrefix(v, "rgb,"); ok {
			for p := range strings.SplitSeq(rest, ",") {
				parts = append(parts, p)
			}
			break
		}
		hex := strings.TrimPrefix(v, "#")
		c, err := drivers.ParseColor("#" + strings.ToLower(hex[:min(len(hex), 6)]))
		return c, err == nil
	}
	if len(parts) < 3 {
		return drivers.Color{}, false
	}
	var rgb [3]uint8
	for i := range rgb {
		f, number := family.Number(parts[i])
		if !number || f < 0 || f > math.MaxUint8 || f != math.Trunc(f) {
			return drivers.Color{}, false
		}
		rgb[i] = uint8(f)
	}
	return drivers.Color{R: rgb[0], G: rgb[1], B: rgb[2]}, true
}

// in returns the value in a payload.
func (v *Value) in(values family.Values, payload []byte) (any, error) {
	where := values.Text(v.Value)
	payload = bytes.TrimSpace(payload)
	if where == "" {
		return string(payload), nil
	}
	answer, err := family.Parse(payload)
	if err != nil {
		return nil, err
	}
	found, ok := family.Pick(answer, where)
	if !ok {
		return nil, fmt.Errorf("the device reports no %s", where)
	}
	return found, nil
}
