package drivertest

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// opens holds an Opener to what it is told, twice each way, where it can tell.
func opens(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, o drivers.Opener) error {
		for _, open := range []bool{true, true, false, false} {
			name, call, want := "Shut", o.Shut, 0.0
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

// locks does so with a Locker.
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
