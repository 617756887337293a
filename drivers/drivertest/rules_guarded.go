package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// isGuarded reports whether another process can switch a device off.
func isGuarded(d drivers.Device) bool {
	g, ok := d.(drivers.Guarded)
	return ok && g.Orders().Off != nil
}

// ordersAreObeyed has a device switched off behind its back, as the guard does
// while its process is frozen and after that has died.
func ordersAreObeyed(ctx context.Context, b *bench) error {
	before := b.open()
	if !isGuarded(before) {
		return notApplicable("nobody else can switch the device off")
	}
	o := before.(drivers.Guarded).Orders()
	return ifHas(b, func(d drivers.Device, g drivers.Guarded) error {
		again := g.Orders()
		if !bytes.Equal(o.Off, again.Off) || !bytes.Equal(o.Safe, again.Safe) {
			return fmt.Errorf("the same device gives other orders when it is opened again: %s, %s, then %s, %s", o.Off, o.Safe, again.Off, again.Safe)
		}
		off := func() error {
			if b.level() {
				return errors.New("it is on")
			}
			return nil
		}
		err := b.obeys(ctx, d, o.Off, off)
		if err == nil && o.Safe != nil {
			err = b.obeys(ctx, d, o.Safe, b.checkSafe)
		}
		if err != nil {
			return err
		}
		if err := b.must("Halt", d.Halt); err != nil {
			return err
		}
		b.force(true)
		if err := b.obeyed(o.Off, true); err != nil {
			return fmt.Errorf("after Halt: %w", err)
		}
		return off()
	})
}

// obeys switches a device on and has an order carried out, twice.
func (b *bench) obeys(ctx context.Context, d drivers.Device, order []byte, is func() error) error {
	if _, opens := d.(drivers.Opener); opens { // it would return when it stands again
		b.force(true)
	} else if err := b.must("switching on", func() error { return goesOn(ctx, d) }); err != nil {
		return err
	}
	changes := is() != nil // where it is safe when it is on, nothing
	for range 2 {
		if err := b.obeyed(order, changes); err != nil {
			return err
		}
		if err := is(); err != nil {
			return fmt.Errorf("after the order %s: %w", order, err)
		}
		changes = false
	}
	return nil
}

func (b *bench) obeyed(order []byte, changes bool) error {
	return b.must("Obey", func() error {
		changed, err := b.obey(order)
		if err == nil && changed != changes {
			err = fmt.Errorf("device: the order %s says changed=%t, and it is %t", order, changed, changes)
		}
		return err
	})
}
