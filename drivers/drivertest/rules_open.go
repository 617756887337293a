package drivertest

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

// opens moves an Opener twice in each direction, and reads its position back if the device
// can.
func opens(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, o drivers.Opener) error {
		for _, open := range []bool{true, true, false, false} {
			name, call, want := "Close", o.Close, 0.0
			if open {
				name, call, want = "Open", o.Open, 100
			}
			if err := b.must(name, func() error { return call(ctx) }); err != nil {
				return err
			}
			r, ok := d.(drivers.OpeningReader)
			if !ok {
				continue
			}
			var is float64
			if err := b.must("Opening", func() (err error) { is, err = r.Opening(ctx); return err }); err != nil {
				return err
			}
			if is != want {
				return fmt.Errorf("the verb Opening = %v after %s", is, name)
			}
		}
		return nil
	})
}

// opensPartly moves a Positioner to valid and invalid positions.
func opensPartly(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, p drivers.Positioner) error {
		if err := b.must("Close", func() error { return p.Close(ctx) }); err != nil { // some devices know their position only after that
			return err
		}
		for _, want := range []float64{30, 30, 100, 65, 0} {
			if err := b.must("OpenTo", func() error { return p.OpenTo(ctx, want) }); err != nil {
				return err
			}
			r, ok := d.(drivers.OpeningReader)
			if !ok {
				continue
			}
			var is float64
			if err := b.must("Opening", func() (err error) { is, err = r.Opening(ctx); return err }); err != nil {
				return err
			}
			if math.Abs(is-want) > drivers.OpeningTolerance {
				return fmt.Errorf("the verb Opening = %v after OpenTo(%v)", is, want)
			}
		}
		for _, percent := range []float64{-1, 101, math.NaN()} {
			before := b.countActs()
			if _, fault := b.mustFail(d, "OpenTo", func() error { return p.OpenTo(ctx, percent) }); fault != nil {
				return fmt.Errorf("OpenTo(%v): %w", percent, fault)
			}
			if b.countActs() != before {
				return fmt.Errorf("OpenTo(%v) made the device act", percent)
			}
		}
		return nil
	})
}

// locks locks and unlocks a Locker.
func locks(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, l drivers.Locker) error {
		for _, lock := range []bool{true, true, false, false, true} {
			name, call := "Unlock", l.Unlock
			if lock {
				name, call = "Lock", l.Lock
			}
			if err := b.must(name, func() error { return call(ctx) }); err != nil {
				return err
			}
			r, ok := d.(drivers.LockReader)
			if !ok {
				continue
			}
			var is bool
			if err := b.must("Locked", func() (err error) { is, err = r.Locked(ctx); return err }); err != nil {
				return err
			}
			if is != lock {
				return fmt.Errorf("the verb Locked = %t after %s", is, name)
			}
		}
		return nil
	})
}
