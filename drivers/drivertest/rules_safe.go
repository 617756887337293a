package drivertest

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// reportsSafe checks Safe of a halted device: after Halt, and after a manual change to
// both levels.
func reportsSafe(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, r drivers.SafeReader) error {
		if err := b.must("Halt", d.Halt); err != nil {
			return err
		}
		_, switches := d.(drivers.Switch)
		if err := b.compareSafe(ctx, r); err != nil || !switches || b.force == nil {
			return err
		}
		for _, on := range []bool{true, false} {
			b.force(on)
			if err := b.compareSafe(ctx, r); err != nil {
				return fmt.Errorf("after a manual change to on=%t: %w", on, err)
			}
		}
		return nil
	})
}

// compareSafe compares Safe with the simulator.
func (b *bench) compareSafe(ctx context.Context, r drivers.SafeReader) error {
	var safe bool
	if err := b.must("Safe", func() (err error) { safe, err = r.Safe(ctx); return err }); err != nil {
		return err
	}
	if is := b.checkSafe(); safe != (is == nil) {
		return fmt.Errorf("the verb Safe = %t, but the simulator reports: %v", safe, is)
	}
	return nil
}
