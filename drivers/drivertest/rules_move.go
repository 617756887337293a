package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/messkit/messkit/drivers"
)

// creep is a slow motion for short leases.
var creep = drivers.Motion{Forward: 0.05}

// motionIsALease checks that a motion ends by itself without a renewal, and at once after
// StopMoving, and that the device rejects a lease above MaxLease.
func motionIsALease(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, m drivers.Mover) error {
		if _, fault := b.mustFail(d, "Move with too long a lease", func() error { return m.Move(ctx, creep, drivers.MaxLease+1) }); fault != nil {
			return fault
		}
		if b.level() {
			return errors.New("the device moves after a rejected lease")
		}
		if err := b.moves(ctx, m, drivers.MaxLease); err != nil {
			return err
		}
		for range 2 { // the second call finds it at rest
			if err := b.must("StopMoving", func() error { return m.StopMoving(ctx) }); err != nil {
				return err
			}
			if b.level() {
				return errors.New("the device moves after StopMoving")
			}
		}
		const short = 20 * time.Millisecond
		if err := b.moves(ctx, m, short); err != nil {
			return err
		}
		for end := time.Now().Add(b.limit); b.level(); <-time.After(short / 4) {
			if time.Now().After(end) {
				return fmt.Errorf("the device still moves %[2]v after the end of its lease of %[1]v", short, b.limit)
			}
		}
		return nil
	})
}

func (b *bench) moves(ctx context.Context, m drivers.Mover, lease time.Duration) error {
	before := b.countActs()
	if err := b.must("Move", func() error { return m.Move(ctx, creep, lease) }); err != nil {
		return err
	}
	if b.countActs() == before {
		return errors.New("the call of Move has not changed the simulator")
	}
	return nil
}

// goesOn turns a device on, or moves it.
func goesOn(ctx context.Context, d drivers.Device) error {
	switch v := d.(type) {
	case drivers.Switch:
		return v.Switch(ctx, true)
	case drivers.Mover:
		return v.Move(ctx, creep, drivers.MaxLease)
	}
	return errors.New("the device has orders for off, and is neither a Switch nor a Mover")
}

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
		turn := func(degrees float64) error { return t.TurnTo(ctx, degrees) }
		return b.rejects(d, "TurnTo", turn, drivers.ErrNothingDone, limits.Min-1, limits.Max+1, math.NaN(), math.Inf(1))
	})
}

func (b *bench) turnsTo(ctx context.Context, d drivers.Device, t drivers.Turner, want float64) error {
	if err := b.sets("TurnTo", want, func() error { return t.TurnTo(ctx, want) }); err != nil {
		return err
	}
	r, ok := d.(drivers.AngleReader)
	if !ok {
		return nil
	}
	right := func(is float64) bool { return math.Abs(is-want) <= 2 }
	return valueIs(ctx, b, "Angle", r.Angle, right, fmt.Sprintf("TurnTo(%v)", want))
}
