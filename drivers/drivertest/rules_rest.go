package drivertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

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
