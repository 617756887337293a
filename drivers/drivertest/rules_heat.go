package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

// keepsTargets checks that a Thermostat rejects a target outside of its range without a
// change, and that a target does not switch the device on or off.
func keepsTargets(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, s drivers.Thermostat) error {
		if b.acts == nil || b.level == nil {
			return errors.New("the suite needs the options Acts and Level to judge this device")
		}
		limits := s.TargetRange()
		if !(limits.Min < limits.Max) {
			return fmt.Errorf("the verb TargetRange = %v to %v", limits.Min, limits.Max)
		}
		was := b.level()
		for _, want := range []float64{limits.Min, limits.Max, math.Round((limits.Min + limits.Max) / 2)} {
			if err := b.keeps(ctx, d, s, want); err != nil {
				return err
			}
			if b.level() != was {
				return fmt.Errorf("SetTarget(%v) has changed on or off", want)
			}
		}
		for _, celsius := range []float64{limits.Min - 1, limits.Max + 1, math.NaN(), math.Inf(1)} {
			before := b.countActs()
			err, fault := b.mustFail(d, "SetTarget", func() error { return s.SetTarget(ctx, celsius) })
			switch {
			case fault != nil:
				return fmt.Errorf("SetTarget(%v): %w", celsius, fault)
			case !errors.Is(err, drivers.ErrNothingDone):
				return fmt.Errorf("SetTarget(%v) does not return ErrNothingDone: %w", celsius, err)
			case b.countActs() != before:
				return fmt.Errorf("SetTarget(%v) made the device act", celsius)
			}
		}
		return nil
	})
}

func (b *bench) keeps(ctx context.Context, d drivers.Device, s drivers.Thermostat, want float64) error {
	before := b.countActs()
	if err := b.must("SetTarget", func() error { return s.SetTarget(ctx, want) }); err != nil {
		return err
	}
	if b.countActs() == before {
		return fmt.Errorf("SetTarget(%v) has not changed the simulator", want)
	}
	r, ok := d.(drivers.TargetReader)
	if !ok {
		return nil
	}
	var is float64
	if err := b.must("Target", func() (err error) { is, err = r.Target(ctx); return err }); err != nil {
		return err
	}
	if math.Abs(is-want) > drivers.TargetTolerance {
		return fmt.Errorf("the verb Target = %v after SetTarget(%v)", is, want)
	}
	return nil
}
