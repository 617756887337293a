package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

// turnsToAngles checks that a Turner rejects an angle outside of its limits without a
// movement, and does not move at Start.
func turnsToAngles(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, t drivers.Turner) error {
		if b.acts == nil {
			return errors.New("the suite needs the option Acts to judge this device")
		}
		if n := b.countActs(); n != 0 {
			return fmt.Errorf("the device has acted %d times at Start", n)
		}
		limits := t.AngleLimits()
		angles := []float64{limits.Min, limits.Max, math.Round((limits.Min + limits.Max) / 2)}
		for _, p := range limits.NamedAngles {
			angles = append(angles, p.Degrees)
		}
		for _, want := range angles {
			if err := b.turnsTo(ctx, d, t, want); err != nil {
				return err
			}
		}
		for _, degrees := range []float64{limits.Min - 1, limits.Max + 1, math.NaN(), math.Inf(1)} {
			before := b.countActs()
			err, fault := b.mustFail(d, "TurnTo", func() error { return t.TurnTo(ctx, degrees) })
			if fault != nil {
				return fmt.Errorf("TurnTo(%v): %w", degrees, fault)
			}
			if !errors.Is(err, drivers.ErrNothingDone) {
				return fmt.Errorf("TurnTo(%v) does not return ErrNothingDone: %w", degrees, err)
			}
			if b.countActs() != before {
				return fmt.Errorf("TurnTo(%v) made the device act", degrees)
			}
		}
		return nil
	})
}

func (b *bench) turnsTo(ctx context.Context, d drivers.Device, t drivers.Turner, want float64) error {
	before := b.countActs()
	if err := b.must("TurnTo", func() error { return t.TurnTo(ctx, want) }); err != nil {
		return err
	}
	if b.countActs() == before {
		return fmt.Errorf("TurnTo(%v) has not changed the simulator", want)
	}
	r, ok := d.(drivers.AngleReader)
	if !ok {
		return nil
	}
	var is float64
	if err := b.must("Angle", func() (err error) { is, err = r.Angle(ctx); return err }); err != nil {
		return err
	}
	if math.Abs(is-want) > 2 {
		return fmt.Errorf("the verb Angle = %v after TurnTo(%v)", is, want)
	}
	return nil
}
