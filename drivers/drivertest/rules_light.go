package drivertest

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

// dims checks the levels of a Dimmer: 0 is off, any other level is on, and it rejects an
// invalid level.
func dims(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, s drivers.Dimmer) error {
		for _, percent := range []float64{100, 1, 0, 50, 50, 0} {
			if err := b.must("Dim", func() error { return s.Dim(ctx, percent) }); err != nil {
				return err
			}
			if on := b.level(); on != (percent > 0) {
				return fmt.Errorf("the simulator is on=%t after Dim(%v)", on, percent)
			}
			if err := b.levelIs(ctx, d, percent); err != nil {
				return err
			}
		}
		return b.rejects(d, "Dim", func(percent float64) error { return s.Dim(ctx, percent) }, nil, -1, 101, math.NaN())
	})
}

// levelIs reads the level back if the device can; many devices round by up to a percent.
func (b *bench) levelIs(ctx context.Context, d drivers.Device, want float64) error {
	r, ok := d.(drivers.LevelReader)
	if !ok {
		return nil
	}
	right := func(is float64) bool { return math.Abs(is-want) <= 1 }
	return valueIs(ctx, b, "Level", r.Level, right, fmt.Sprintf("Dim(%v)", want))
}

// tints checks the colors of a ColorSetter, and reads them back if the device can.
func tints(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, s drivers.ColorSetter) error {
		for _, want := range []drivers.Color{{R: 255}, {B: 255}, {R: 255, G: 255, B: 255}} {
			if err := b.must("SetColor", func() error { return s.SetColor(ctx, want) }); err != nil {
				return err
			}
			if !b.level() {
				return fmt.Errorf("the simulator is off after SetColor(%v)", want)
			}
			r, ok := d.(drivers.ColorReader)
			if !ok {
				continue
			}
			right := func(is drivers.Color) bool { return is == want }
			if err := valueIs(ctx, b, "Color", r.Color, right, fmt.Sprintf("SetColor(%v)", want)); err != nil {
				return err
			}
		}
		return nil
	})
}

// warms checks the color temperatures of a ColorTemperatureSetter, and their limits.
func warms(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, s drivers.ColorTemperatureSetter) error {
		warmest, coldest := s.ColorTemperatureRange()
		if !(warmest > 0 && warmest < coldest) {
			return fmt.Errorf("the verb ColorTemperatureRange = %v to %v", warmest, coldest)
		}
		for _, want := range []float64{warmest, coldest, math.Round((warmest + coldest) / 2)} {
			if err := b.must("SetColorTemperature", func() error { return s.SetColorTemperature(ctx, want) }); err != nil {
				return err
			}
			if !b.level() {
				return fmt.Errorf("the simulator is off after SetColorTemperature(%v)", want)
			}
			r, ok := d.(drivers.ColorTemperatureReader)
			if !ok {
				continue
			}
			right := func(is float64) bool { return math.Abs(1e6/is-1e6/want) <= 5 } // many devices use mireds
			if err := valueIs(ctx, b, "ColorTemperature", r.ColorTemperature, right, fmt.Sprintf("SetColorTemperature(%v)", want)); err != nil {
				return err
			}
		}
		warm := func(kelvin float64) error { return s.SetColorTemperature(ctx, kelvin) }
		return b.rejects(d, "SetColorTemperature", warm, nil, 0, -1, warmest-1, coldest+1, math.NaN(), math.Inf(1))
	})
}
