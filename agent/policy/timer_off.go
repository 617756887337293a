package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
)

// off is the pending switch-off of a device.
type off struct {
	at   time.Time // zero: never
	on   time.Time // start of the current period on, as far as known
	was  bool      // it has reported off since then
	sw   drivers.Switch
	wait time.Duration // delay before the next try, after a failed one
	why  error         // error of the last failed try
	late time.Time     // time of the first failed try
	time bool          // the plan named that time and no longer one
	own  time.Time     // when its own timer switches it off; zero: no timer, or not set
	// stops marks a device that must stand still, or go to a safe level of on, and has not
	// confirmed it.
	stops bool
}

// First and longest delay between two tries to switch off.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

func (g *Policy) disarm(d *device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wentOff(d, d.off)
}

// wentOff records that a device is off. It returns false if another command has replaced o. The
// caller holds Gate.mu.
func (g *Policy) wentOff(d *device, o *off) bool {
	if d.off != o {
		return false
	}
	d.off, d.level = nil, isOff
	g.paid(d)
	g.saw(d, d.acts, true, drivers.Reading{Quantity: "on"})
	d.calm()
	g.tellGuard(d)
	g.ring()
	return true
}

// slowest is how long a device may still report off after a command to switch on.
const slowest = 10 * time.Second

// says records that a device reports whether it is on. After a report of off, max_on counts
// anew; the gate still sends the pending switch-off, because the device may carry out an
// earlier command late. The caller holds Gate.mu.
func (d *device) says(on bool, now time.Time) {
	if d.off != nil && !d.off.stops && len(d.acting) == 0 && (on || now.Sub(d.used) > slowest) {
		d.off.was = !on
	}
}

// isOn reports whether a device is on, as far as known. The caller holds Gate.mu.
func (d *device) isOn() bool { return d.off != nil && !d.off.was }

// Run switches devices off when their time is over, and keeps all devices safe during a stop,
// until ctx ends. Devices that are still on then get Halt from the agent.
func (g *Policy) Run(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error { return g.runTimers(ctx) })
	both.Go(func() error { return g.keepSafe(ctx) })
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		g.runDues(ctx)
	}()
	err := both.Wait()
	unlessItHangs(func() { <-noted })
	return err
}

// runTimers switches each device off in its own goroutine, so that a hanging one does not delay
// others.
func (g *Policy) runTimers(ctx context.Context) error {
	var offs errgroup.Group
	defer func() { _ = offs.Wait() }() // they return nil
	for {
		d, o, in := g.next()
		if d == nil {
			select {
			case <-ctx.Done():
				return nil
			case <-g.stir:
			}
			continue
		}
		t := time.NewTimer(min(in, glance))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-g.stir:
		case <-t.C:
			if in > glance {
				break
			}
			g.ending(d, true)
			offs.Go(func() error {
				defer g.ending(d, false)
				g.switchOff(ctx, d, o)
				return nil
			})
		}
		t.Stop()
	}
}

// ending records whether the gate is switching a device off.
func (g *Policy) ending(d *device, now bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.ending = now
	g.ring()
}

// next returns the device with the earliest pending switch-off, and the time until then.
func (g *Policy) next() (d *device, o *off, in time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wake()
	for _, c := range g.devices {
		if c.off != nil && !c.ending && !c.off.at.IsZero() && (d == nil || c.off.at.Before(o.at)) {
			d, o = c, c.off
		}
	}
	if d == nil {
		return nil, nil, 0
	}
	return d, o, max(0, o.at.Sub(g.now()))
}

// switchOff switches a device off and schedules another try if that fails.
func (g *Policy) switchOff(ctx context.Context, d *device, o *off) {
	_, err := run(ctx, g, &call{dev: d, name: "switch off", limit: d.limits.Timeout, line: d.acting}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.sw.Switch(ctx, false)
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.stops && (err == nil || errors.Is(err, drivers.ErrNotStarted)) && d.off == o { // it stands still, or a stop handles it
		d.off = nil
		d.left = d.left && err != nil
		g.log.Info("not told again any more", "device", d.name, "err", err)
		return
	}
	if err == nil && g.wentOff(d, o) {
		d.used = g.now()
		g.log.Info("switched off, its time is over", "device", d.name)
		return
	}
	if d.off != o || ctx.Err() != nil {
		return // another command has replaced it, or the program ends
	}
	o.wait = min(lastRetry, max(firstRetry, 2*o.wait))
	o.at = g.now().Add(o.wait)
	if o.stops {
		g.log.Error("told its safe state again, and not known to be in it", "device", d.name, "err", err)
		return
	}
	if o.why == nil {
		o.late = g.now()
	}
	o.why = err
	g.log.Error("cannot switch off, though its time is over", "device", d.name, "err", err)
}

// Overdue returns since when a device is on past its time, and the error of the last try to
// switch it off; a nil error if it is not overdue.
func (g *Policy) Overdue(name string) (since time.Time, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.devices[name]
	if d == nil || !d.isOn() || d.off.why == nil {
		return time.Time{}, nil
	}
	return d.off.late, fmt.Errorf("it may be on though its time is over, and cannot be switched off; it is tried again, look at it: %w", d.off.why)
}
