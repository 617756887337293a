package drivertest

import (
	"context"
	"errors"
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

// reportsRest checks AtRest of a cleaner while its simulator moves, and after that.
func reportsRest(ctx context.Context, b *bench) error {
	return ifCleans(ctx, b, func(d drivers.Device, c drivers.Cleaner, places []string) error {
		r, ok := d.(drivers.RestReader)
		if !ok {
			return notApplicable("the device has no AtRest")
		}
		under, cancel := context.WithCancel(ctx)
		defer cancel()
		seen := errors.New("the verb Clean reports no progress while the device moves")
		_, fault := b.mustFail(d, "a cancelled Clean", func() error {
			_, err := c.Clean(under, places, func(drivers.Progress) {
				if under.Err() == nil && b.checkSafe() != nil {
					seen = rests(ctx, r, false)
					cancel()
				}
			})
			return err
		})
		if fault != nil || seen != nil {
			return errors.Join(fault, seen)
		}
		if err := errors.Join(b.safeAfter("a cancelled Clean"), rests(ctx, r, true)); err != nil {
			return err
		}
		if err := b.must("Halt", d.Halt); err != nil {
			return err
		}
		if err := rests(ctx, r, true); err != nil {
			return fmt.Errorf("after Halt: %w", err)
		}
		return nil
	})
}

// rests compares AtRest with the real state.
func rests(ctx context.Context, r drivers.RestReader, so bool) error {
	if is, err := r.AtRest(ctx); err != nil || is != so {
		return fmt.Errorf("the verb AtRest = %t (%w), but the simulator is at %t", is, err, so)
	}
	return nil
}
