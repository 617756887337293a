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
		set := func(celsius float64) error { return s.SetTarget(ctx, celsius) }
		return b.rejects(d, "SetTarget", set, drivers.ErrNothingDone, limits.Min-1, limits.Max+1, math.NaN(), math.Inf(1))
	})
}

func (b *bench) keeps(ctx context.Context, d drivers.Device, s drivers.Thermostat, want float64) error {
	if err := b.sets("SetTarget", want, func() error { return s.SetTarget(ctx, want) }); err != nil {
		return err
	}
	r, ok := d.(drivers.TargetReader)
	if !ok {
		return nil
	}
	right := func(is float64) bool { return math.Abs(is-want) <= drivers.TargetTolerance }
	return valueIs(ctx, b, "Target", r.Target, right, fmt.Sprintf("SetTarget(%v)", want))
}
