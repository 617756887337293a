package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
)

// off is when a device is to be switched off, and by which verb.
type off struct {
	at   time.Time // zero: never
	on   time.Time // since when it is on without a break, as far as is known
	was  bool      // it has said since that it is off
	sw   drivers.Switch
	wait time.Duration // before the next try, after one that failed
	why  error         // of the last that failed
	late time.Time     // when the first has failed
	time bool          // it was asked for that time, and not for longer
	own  time.Time     // when its own timer switches it off; zero: it has none, or that is not set
	// stops: it is to stand still, or to be on because that is safe, and has not said
	// that it does, or is.
	stops bool
}

// The first and the longest wait between two tries to switch off.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

func (g *Gate) disarm(d *device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wentOff(d, d.off)
}

// wentOff notes that a device is off, and reports false where it was switched
// since o was noted. mu is held.
func (g *Gate) wentOff(d *device, o *off) bool {
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

// slowest is how long a device that was told to be on may say that it is off.
const slowest = 10 * time.Second

// says notes that a device says itself whether it is on. Where it is off being on begins
// anew, but it is told to go off all the same when its time is over: what it was told
// before it may hear late. mu is held.
func (d *device) says(on bool, now time.Time) {
	if d.off != nil && !d.off.stops && len(d.acting) == 0 && (on || now.Sub(d.used) > slowest) {
		d.off.was = !on
	}
}

// isOn reports whether a device is on, as far as is known. mu is held.
func (d *device) isOn() bool { return d.off != nil && !d.off.was }

// Run switches off what has been on for its time, and keeps everything safe
// while it is stopped, until ctx ends. What is on then is for the drivers' Halt.
func (g *Gate) Run(ctx context.Context) error {
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

// runTimers switches each device off by itself: one that hangs keeps no other on.
func (g *Gate) runTimers(ctx context.Context) error {
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

// ending notes whether a device is being switched off.
func (g *Gate) ending(d *device, now bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.ending = now
	g.ring()
}

// next is the device that is to be switched off next, and in how long.
func (g *Gate) next() (d *device, o *off, in time.Duration) {
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

// switchOff switches a device off, and tries again later if that fails.
func (g *Gate) switchOff(ctx context.Context, d *device, o *off) {
	_, err := run(ctx, g, &call{dev: d, name: "switch off", limit: d.limits.Timeout, line: d.acting}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.sw.Switch(ctx, false)
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.stops && (err == nil || errors.Is(err, drivers.ErrNotStarted)) && d.off == o { // it stands, or a stop sees to it
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
		return // it was switched meanwhile, or the program ends
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

// Overdue is since when a device is on though it is to be off, and why it cannot be
// switched off; nil if it is not.
func (g *Gate) Overdue(name string) (since time.Time, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.devices[name]
	if d == nil || !d.isOn() || d.off.why == nil {
		return time.Time{}, nil
	}
	return d.off.late, fmt.Errorf("it may be on though its time is over, and cannot be switched off; it is tried again, look at it: %w", d.off.why)
}
