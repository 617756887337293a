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
