package template

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Dimmer                 = dimmer{}
	_ drivers.LevelReader            = dimmer{}
	_ drivers.ColorSetter            = colorSetter{}
	_ drivers.ColorReader            = colorSetter{}
	_ drivers.ColorTemperatureSetter = colorTemperatureSetter{}
	_ drivers.ColorTemperatureReader = colorTemperatureSetter{}
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

// colorSetter implements drivers.ColorSetter.
type colorSetter struct{ d *Device }

// SetColor sets the color.
func (p colorSetter) SetColor(ctx context.Context, c drivers.Color) error {
	return p.d.Do(ctx, func(ctx context.Context) error { return p.d.verbs.Light.SetColor(ctx, c) })
}

// Color reads back the color.
func (p colorSetter) Color(ctx context.Context) (drivers.Color, error) {
	return drivers.DoValue(ctx, &p.d.Base, p.d.verbs.Light.Color)
}

// colorTemperatureSetter implements drivers.ColorTemperatureSetter.
type colorTemperatureSetter struct{ d *Device }

// SetColorTemperature sets the color temperature in kelvin.
func (w colorTemperatureSetter) SetColorTemperature(ctx context.Context, kelvin float64) error {
	return w.d.Do(ctx, func(ctx context.Context) error {
		if warmest, coldest := w.ColorTemperatureRange(); !(kelvin >= warmest && kelvin <= coldest) {
			return drivers.MarkNothingDone(fmt.Errorf("%v K is not between %v and %v", kelvin, warmest, coldest))
		}
		return w.d.verbs.Light.ColorTemperature.Set(ctx, kelvin)
	})
}

// ColorTemperatureRange returns the limits of the color temperature.
func (w colorTemperatureSetter) ColorTemperatureRange() (warmest, coldest float64) {
	return w.d.verbs.Light.ColorTemperature.Warmest, w.d.verbs.Light.ColorTemperature.Coldest
}

// ColorTemperature reads back the color temperature in kelvin.
func (w colorTemperatureSetter) ColorTemperature(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &w.d.Base, w.d.verbs.Light.ColorTemperature.Read)
}

// Combinations of the verbs of lamps, without timers and sensors.
type (
	dimmableLamp struct {
		switcher
		dimmer
	}
	colorLamp struct {
		dimmableLamp
		colorSetter
	}
	whiteLamp struct {
		dimmableLamp
		colorTemperatureSetter
	}
	fullColorLamp struct {
		colorLamp
		colorTemperatureSetter
	}
)

// shapeLamp is shape for a lamp.
func shapeLamp(d *Device) drivers.Device {
	l := dimmableLamp{switcher{d}, dimmer{d}}
	switch light := d.verbs.Light; {
	case light.SetColor != nil && light.ColorTemperature != nil:
		return shapeFullColorLamp(d, fullColorLamp{colorLamp{l, colorSetter{d}}, colorTemperatureSetter{d}})
	case light.ColorTemperature != nil:
		return shapeWhiteLamp(d, whiteLamp{l, colorTemperatureSetter{d}})
	case light.SetColor != nil:
		return shapeColorLamp(d, colorLamp{l, colorSetter{d}})
	}
	return shapeDimmer(d, l)
}

func shapeDimmer(d *Device, l dimmableLamp) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			dimmableLamp
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			dimmableLamp
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			dimmableLamp
			sensor
		}{l, sensor{d}}
	}
	return l
}

func shapeColorLamp(d *Device, l colorLamp) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			colorLamp
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			colorLamp
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			colorLamp
			sensor
		}{l, sensor{d}}
	}
	return l
}

func shapeWhiteLamp(d *Device, l whiteLamp) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			whiteLamp
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			whiteLamp
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			whiteLamp
			sensor
		}{l, sensor{d}}
	}
	return l
}

func shapeFullColorLamp(d *Device, l fullColorLamp) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			fullColorLamp
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			fullColorLamp
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			fullColorLamp
			sensor
		}{l, sensor{d}}
	}
	return l
}
