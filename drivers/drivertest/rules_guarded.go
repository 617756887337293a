package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// isGuarded reports whether another process can switch the device off.
func isGuarded(d drivers.Device) bool {
	g, ok := d.(drivers.WatchdogTarget)
	return ok && g.WatchdogCommands().Off != nil
}

// runsWatchdogCommands switches a device off without its driver, as the watchdog does while the
// driver's process is frozen and after it has died.
func runsWatchdogCommands(ctx context.Context, b *bench) error {
	before := b.open()
	if !isGuarded(before) {
		return notApplicable("no other process can switch the device off")
	}
	o := before.(drivers.WatchdogTarget).WatchdogCommands()
	return ifHas(b, func(d drivers.Device, g drivers.WatchdogTarget) error {
		again := g.WatchdogCommands()
		if !bytes.Equal(o.Off, again.Off) || !bytes.Equal(o.Safe, again.Safe) {
			return fmt.Errorf("the device returns different orders after it opens again: %s, %s, then %s, %s", o.Off, o.Safe, again.Off, again.Safe)
		}
		off := func() error {
			if b.level() {
				return errors.New("the device is on")
			}
			return nil
		}
		err := b.runTwice(ctx, d, o.Off, off)
		if err == nil && o.Safe != nil {
			err = b.runTwice(ctx, d, o.Safe, b.checkSafe)
		}
		if err != nil {
			return err
		}
		if err := b.must("Halt", d.Halt); err != nil {
			return err
		}
		b.force(true)
		if err := b.runOnce(o.Off, true); err != nil {
			return fmt.Errorf("after Halt: %w", err)
		}
		return off()
	})
}

// runTwice turns the device on and executes an order twice.
func (b *bench) runTwice(ctx context.Context, d drivers.Device, order []byte, is func() error) error {
	if _, opens := d.(drivers.Opener); opens { // its verbs would return only at the end of the movement
		b.force(true)
	} else if err := b.must("switching on", func() error { return goesOn(ctx, d) }); err != nil {
		return err
	}
	changes := is() != nil // nothing, if on is the safe state
	for range 2 {
		if err := b.runOnce(order, changes); err != nil {
			return err
		}
		if err := is(); err != nil {
			return fmt.Errorf("after the order %s: %w", order, err)
		}
		changes = false
	}
	return nil
}

func (b *bench) runOnce(order []byte, changes bool) error {
	return b.must("RunWatchdogCommand", func() error {
		changed, err := b.runCommand(order)
		if err == nil && changed != changes {
			err = fmt.Errorf("device: the order %s reports changed=%t instead of %t", order, changed, changes)
		}
		return err
	})
}
