package family

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Dimmer                 = dimmer{}
	_ drivers.LevelReader            = dimmer{}
	_ drivers.ColorSetter            = tinter{}
	_ drivers.ColorReader            = tinter{}
	_ drivers.ColorTemperatureSetter = whitener{}
	_ drivers.ColorTemperatureReader = whitener{}
)

// dimmer implements drivers.Dimmer.
type dimmer struct{ d *Device }

// Dim sets the brightness; 0 turns the lamp off.
func (m dimmer) Dim(ctx context.Context, percent float64) error {
	return m.d.Do(ctx, func(ctx context.Context) error {
		switch {
		case !(percent >= 0 && percent <= 100):
			return drivers.MarkNothingDone(fmt.Errorf("%v %% is not between 0 and 100", percent))
		case percent == 0:
			return m.d.verbs.Switch(ctx, false)
		}
		return m.d.verbs.Light.Dim(ctx, percent)
	})
}

// Level reads back the brightness.
func (m dimmer) Level(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &m.d.Base, m.d.verbs.Light.Level)
}

// tinter implements drivers.ColorSetter.
type tinter struct{ d *Device }

// SetColor sets the color.
func (p tinter) SetColor(ctx context.Context, c drivers.Color) error {
	return p.d.Do(ctx, func(ctx context.Context) error { return p.d.verbs.Light.Tint(ctx, c) })
}

// Color reads back the color.
func (p tinter) Color(ctx context.Context) (drivers.Color, error) {
	return drivers.DoValue(ctx, &p.d.Base, p.d.verbs.Light.Colour)
}

// whitener implements drivers.ColorTemperatureSetter.
type whitener struct{ d *Device }

// SetColorTemperature sets the color temperature in kelvin.
func (w whitener) SetColorTemperature(ctx context.Context, kelvin float64) error {
	return w.d.Do(ctx, func(ctx context.Context) error {
		if warmest, coldest := w.ColorTemperatureRange(); !(kelvin >= warmest && kelvin <= coldest) {
			return drivers.MarkNothingDone(fmt.Errorf("%v K is not between %v and %v", kelvin, warmest, coldest))
		}
		return w.d.verbs.Light.White.Warm(ctx, kelvin)
	})
}

// ColorTemperatureRange returns the limits of the color temperature.
func (w whitener) ColorTemperatureRange() (warmest, coldest float64) {
	return w.d.verbs.Light.White.Warmest, w.d.verbs.Light.White.Coldest
}

// ColorTemperature reads back the color temperature in kelvin.
func (w whitener) ColorTemperature(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &w.d.Base, w.d.verbs.Light.White.Warmth)
}

// Combinations of the verbs of lamps, without timers and sensors.
type (
	dims struct {
		switcher
		dimmer
	}
	tints struct {
		dims
		tinter
	}
	whitens struct {
		dims
		whitener
	}
	paints struct {
		tints
		whitener
	}
)

// lamp is shape for a lamp.
func lamp(d *Device) drivers.Device {
	l := dims{switcher{d}, dimmer{d}}
	switch light := d.verbs.Light; {
	case light.Tint != nil && light.White != nil:
		return painted(d, paints{tints{l, tinter{d}}, whitener{d}})
	case light.White != nil:
		return whitened(d, whitens{l, whitener{d}})
	case light.Tint != nil:
		return tinted(d, tints{l, tinter{d}})
	}
	return dimmed(d, l)
}

func dimmed(d *Device, l dims) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			dims
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			dims
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			dims
			sensor
		}{l, sensor{d}}
	}
	return l
}

func tinted(d *Device, l tints) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			tints
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			tints
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			tints
			sensor
		}{l, sensor{d}}
	}
	return l
}

func whitened(d *Device, l whitens) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			whitens
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			whitens
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			whitens
			sensor
		}{l, sensor{d}}
	}
	return l
}

func painted(d *Device, l paints) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			paints
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			paints
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			paints
			sensor
		}{l, sensor{d}}
	}
	return l
}
