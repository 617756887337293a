package drivertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// turns is a sequence of commands in which each level follows both levels.
var turns = []bool{true, true, false, false, true, false}

func switchReports(ctx context.Context, b *bench) error {
	return ifHas(b, func(_ drivers.Device, s drivers.Switch) error {
		for _, on := range turns {
			before := b.countActs()
			if err := b.must("Switch", func() error { return s.Switch(ctx, on) }); err != nil {
				return err
			}
			if b.level() != on {
				return fmt.Errorf("the simulator is on=%t after Switch(%t)", !on, on)
			}
			if b.countActs() == before {
				return fmt.Errorf("Switch(%t) has not changed the simulator", on)
			}
		}
		return nil
	})
}

func readsBack(ctx context.Context, b *bench) error {
	if _, ok := b.open().(drivers.Switch); !ok {
		return notApplicable("the device is not a Switch")
	}
	return ifHas(b, func(d drivers.Device, r drivers.SwitchReader) error {
		s := d.(drivers.Switch)
		for _, on := range turns {
			if err := b.must("Switch", func() error { return s.Switch(ctx, on) }); err != nil {
				return err
			}
			if err := b.reads(ctx, r, on); err != nil {
				return fmt.Errorf("after Switch(%t): %w", on, err)
			}
			b.force(!on)
			if err := b.reads(ctx, r, !on); err != nil {
				return fmt.Errorf("after a manual change to on=%t: %w", !on, err)
			}
		}
		return nil
	})
}

func (b *bench) reads(ctx context.Context, r drivers.SwitchReader, want bool) error {
	var on bool
	if err := b.must("On", func() (err error) { on, err = r.On(ctx); return err }); err != nil {
		return err
	}
	if on != want {
		return fmt.Errorf("the verb On = %t, want %t", on, want)
	}
	if b.level() != on {
		return errors.New("the simulator has another state")
	}
	return nil
}
