package drivertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
)

func (d *device) Move(ctx context.Context, _ drivers.Motion, lease time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.may(ctx)
	switch {
	case err != nil || d.fault == movesNot:
		return err
	case lease > drivers.MaxLease && d.fault != movesLong:
		return errors.New("device: too long a lease")
	case d.fault == movesOn:
	case d.timer == nil:
		d.timer = time.AfterFunc(lease, func() { d.force(false) })
	default:
		d.timer.Reset(lease)
	}
	d.on, d.done = true, d.done+1
	return nil
}

func (d *device) StopMoving(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	d.on = false
	return nil
}

func (d *device) Areas(ctx context.Context) ([]drivers.Area, error) {
	areas := []drivers.Area{{Name: "hall"}, {Name: "stairs"}}
	if d.fault == sameNames {
		areas[1].Name = "hall"
	}
	return areas, d.ask(ctx)
}

func (d *device) Dock(ctx context.Context) error { return d.ask(ctx) }

func (d *device) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	for _, a := range areas {
		if !slices.Contains([]string{"hall", "stairs"}, a) && d.fault != cleansAnywhere {
			return drivers.Outcome{Remaining: areas}, errors.New("device: no such place; there are: hall, stairs")
		}
	}
	var out drivers.Outcome
	for i, a := range areas {
		if err := d.step(ctx, 100*float64(i)/2, a, progress); err != nil {
			if d.fault != forgetsRemaining {
				out.Remaining = areas[i:]
			}
			return out, err
		}
		if d.fault != forgetsDone {
			out.Done = append(out.Done, a)
		}
	}
	return out, d.rest(ctx)
}

// step cleans one area, unless the progress callback has ended the task.
func (d *device) step(ctx context.Context, percent float64, area string, progress func(drivers.Progress)) error {
	if err := d.ask(ctx); err != nil {
		return err
	}
	if d.fault == progressFallsBack {
		percent = 90 - percent
	}
	d.setMoving(true)
	if progress != nil {
		progress(drivers.Progress{Percent: percent, Activity: "cleaning " + area})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moving = d.fault == drivesOn
	if err := d.may(ctx); err != nil {
		return err
	}
	if d.fault != cleansNothing {
		d.done++
	}
	return nil
}

func (d *device) setMoving(so bool) { d.mu.Lock(); defer d.mu.Unlock(); d.moving = so }

// rest ends a task without areas. With the fault of Halt it cleans until the end of the
// test.
func (d *device) rest(ctx context.Context) error {
	if d.fault == haltLeavesCleaning && d.ask(ctx) == nil {
		<-d.end
	}
	return d.ask(ctx)
}
