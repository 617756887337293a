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
			if err := valueIs(ctx, b, "Opening", r.Opening, func(is float64) bool { return is == want }, name); err != nil {
				return err
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
			right := func(is float64) bool { return math.Abs(is-want) <= drivers.OpeningTolerance }
			if err := valueIs(ctx, b, "Opening", r.Opening, right, fmt.Sprintf("OpenTo(%v)", want)); err != nil {
				return err
			}
		}
		return b.rejects(d, "OpenTo", func(percent float64) error { return p.OpenTo(ctx, percent) }, nil, -1, 101, math.NaN())
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
			if err := valueIs(ctx, b, "Locked", r.Locked, func(is bool) bool { return is == lock }, name); err != nil {
				return err
			}
		}
		return nil
	})
}
