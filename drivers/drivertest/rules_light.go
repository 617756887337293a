package drivertest

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

// dims holds a Dimmer to its levels: 0 is off, all else is on, and what cannot
// be is refused.
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
		for _, percent := range []float64{-1, 101, math.NaN()} {
			if _, fault := b.mustFail(d, "Dim", func() error { return s.Dim(ctx, percent) }); fault != nil {
				return fmt.Errorf("Dim(%v): %w", percent, fault)
			}
		}
		return nil
	})
}

// levelIs reads the level back, where the device can; a percent is lost to
// rounding in many.
func (b *bench) levelIs(ctx context.Context, d drivers.Device, want float64) error {
	r, ok := d.(drivers.LevelReader)
	if !ok {
		return nil
	}
	var got float64
	if err := b.must("Level", func() (err error) { got, err = r.Level(ctx); return err }); err != nil {
		return err
	}
	if math.Abs(got-want) > 1 {
		return fmt.Errorf("the verb Level = %v after Dim(%v)", got, want)
	}
	return nil
}

// tints holds a Tinter to its colours, where it can tell them.
func tints(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, s drivers.Tinter) error {
		for _, want := range []drivers.Colour{{R: 255}, {B: 255}, {R: 255, G: 255, B: 255}} {
			if err := b.must("Tint", func() error { return s.Tint(ctx, want) }); err != nil {
				return err
			}
			if !b.level() {
				return fmt.Errorf("the simulator is off after Tint(%v)", want)
			}
			r, ok := d.(drivers.ColourReader)
			if !ok {
				continue
			}
			var got drivers.Colour
			if err := b.must("Colour", func() (err error) { got, err = r.Colour(ctx); return err }); err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("the verb Colour = %v after Tint(%v)", got, want)
			}
		}
		return nil
	})
}
