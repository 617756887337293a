package drivertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

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
