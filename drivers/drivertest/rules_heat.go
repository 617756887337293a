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

// sets calls a verb with a value, which must change the simulator.
func (b *bench) sets(verb string, value float64, call func() error) error {
	before := b.countActs()
	if err := b.must(verb, call); err != nil {
		return err
	}
	if b.countActs() == before {
		return fmt.Errorf("%s(%v) has not changed the simulator", verb, value)
	}
	return nil
}

// valueIs reads a value after a call, and returns an error if right rejects the value.
func valueIs[T any](ctx context.Context, b *bench, verb string, read func(context.Context) (T, error), right func(T) bool, after string) error {
	var is T
	if err := b.must(verb, func() (err error) { is, err = read(ctx); return err }); err != nil {
		return err
	}
	if !right(is) {
		return fmt.Errorf("the verb %s = %v after %s", verb, is, after)
	}
	return nil
}

// rejects calls a verb with invalid values. Each call must fail with the error want, or with
// any error if want is nil, and without an action of the device.
func (b *bench) rejects(d drivers.Device, verb string, call func(float64) error, want error, values ...float64) error {
	for _, v := range values {
		before := b.countActs()
		err, fault := b.mustFail(d, verb, func() error { return call(v) })
		switch {
		case fault != nil:
			return fmt.Errorf("%s(%v): %w", verb, v, fault)
		case want != nil && !errors.Is(err, want):
			return fmt.Errorf("%s(%v) does not return the error %q: %w", verb, v, want, err)
		case b.countActs() != before:
			return fmt.Errorf("%s(%v) made the device act", verb, v)
		}
	}
	return nil
}
