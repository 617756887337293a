package drivertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

func haltIsSafe(ctx context.Context, b *bench) error {
	d, err := b.started()
	if err != nil {
		return err
	}
	if s, ok := d.(drivers.Switch); ok {
		if err := b.must("Switch", func() error { return s.Switch(ctx, true) }); err != nil {
			return err
		}
	}
	if err := b.must("Halt", d.Halt); err != nil {
		return err
	}
	return b.safeAfter("Halt")
}

// safeAfter asks the simulator for its safe state; what names the preceding step in the
// error.
func (b *bench) safeAfter(what string) error {
	if err := b.checkSafe(); err != nil {
		return fmt.Errorf("after %s the device is not safe: %w", what, err)
	}
	return nil
}

func haltAtAnyTime(_ context.Context, b *bench) error {
	d := b.open()
	if err := b.must("Halt before Start", d.Halt); err != nil {
		return err
	}
	if err := b.must("Start", d.Start); err != nil {
		return err
	}
	for _, which := range []string{"first", "second", "third"} {
		if err := b.must("the "+which+" Halt", d.Halt); err != nil {
			return err
		}
	}
	return b.safeAfter("three Halts")
}

// haltDuringVerb repeats each verb until it returns an error, and calls Halt in between:
// the verb must end, and the device must be safe afterwards.
func haltDuringVerb(ctx context.Context, b *bench) error {
	for i := range verbs(b.open()) {
		d, err := b.started()
		if err != nil {
			return err
		}
		v := verbs(d)[i]
		if err := b.haltDuring(ctx, d, v); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) haltDuring(ctx context.Context, d drivers.Device, v verb) error {
	ctx, cancel := context.WithTimeout(ctx, b.limit/2) // below the limit, so that the end of the loop is visible
	defer cancel()
	under := make(chan struct{}, 1) // signals the first call
	calls := begin(v.name, func() error {
		for ctx.Err() == nil {
			select {
			case under <- struct{}{}:
			default:
			}
			if v.call(ctx) != nil && ctx.Err() == nil {
				return nil
			}
		}
		return errors.New("it still returns no error")
	})
	<-under
	if err := b.must("Halt during "+v.name, d.Halt); err != nil {
		return err
	}
	err, fault := b.await(v.name, calls)
	if err != nil || fault != nil {
		return fmt.Errorf("%s continues after Halt: %w", v.name, errors.Join(err, fault))
	}
	return b.safeAfter("Halt during " + v.name)
}

func startAfterHalt(ctx context.Context, b *bench) error {
	d, err := b.started()
	if err != nil {
		return err
	}
	if err := b.must("Halt", d.Halt); err != nil {
		return err
	}
	if err := b.must("Start after Halt", d.Start); err != nil {
		return err
	}
	err = b.checkVerbs(ctx, d)
	return errors.Join(err, b.must("the second Halt", d.Halt))
}

// checkVerbs checks that every verb succeeds.
func (b *bench) checkVerbs(ctx context.Context, d drivers.Device) error {
	for _, v := range verbs(d) {
		if v.midway {
			continue
		}
		if err := b.must(v.name, func() error { return v.call(ctx) }); err != nil {
			return err
		}
	}
	return nil
}
