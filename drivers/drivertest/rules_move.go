package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

// creep is a motion that is slow, for leases that are short.
var creep = drivers.Motion{Forward: 0.05}

// motionIsALease has a device move, and not told again: it stops by itself, and at
// once when it is told to. What would move for longer than MaxLease is refused.
func motionIsALease(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, m drivers.Mover) error {
		if _, fault := b.mustFail(d, "Move with too long a lease", func() error { return m.Move(ctx, creep, drivers.MaxLease+1) }); fault != nil {
			return fault
		}
		if b.level() {
			return errors.New("it moves, though the lease was refused")
		}
		if err := b.moves(ctx, m, drivers.MaxLease); err != nil {
			return err
		}
		for range 2 { // it may stand still already
			if err := b.must("Still", func() error { return m.Still(ctx) }); err != nil {
				return err
			}
			if b.level() {
				return errors.New("it moves after Still")
			}
		}
		const short = 20 * time.Millisecond
		if err := b.moves(ctx, m, short); err != nil {
			return err
		}
		for end := time.Now().Add(b.limit); b.level(); <-time.After(short / 4) {
			if time.Now().After(end) {
				return fmt.Errorf("it moves on, and its lease of %v is over since %v", short, b.limit)
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
		return errors.New("the simulator says that Move did nothing")
	}
	return nil
}

// goesOn switches a device on, or has it move.
func goesOn(ctx context.Context, d drivers.Device) error {
	switch v := d.(type) {
	case drivers.Switch:
		return v.Switch(ctx, true)
	case drivers.Mover:
		return v.Move(ctx, creep, drivers.MaxLease)
	}
	return errors.New("there are orders to switch it off, and it is neither a Switch nor a Mover")
}
