package gate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// Safe is what came of taking one device to its safe state.
type Safe struct {
	Device   string
	State    SafeState
	Evidence mess.Evidence // how it is known; "" while it is not reached
	Took     time.Duration // from the call to the driver until this was known
	Err      string        // why it is not reached, or not known better
}

// SafeState is how far a device is.
type SafeState string

// Values of SafeState.
const (
	Pending SafeState = "pending" // its driver has not answered yet
	Reached SafeState = "safe"
	Unsafe  SafeState = "unsafe" // it is tried again while the stop lasts
)

// Safety tells of every device what came of the last stop, by name; nothing
// before the first.
func (g *Gate) Safety() []Safe {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []Safe
	for _, d := range g.devices {
		switch {
		case g.rounds == 0 || d.driver == nil:
		case d.safe == nil:
			list = append(list, Safe{Device: d.name, State: Pending})
		default:
			list = append(list, *d.safe)
		}
	}
	order.By(list, func(a, b Safe) int { return strings.Compare(a.Device, b.Device) })
	return list
}

// keepSafe takes every device to its safe state when the gate is stopped, each
// by itself, and keeps at it until Clear or until ctx ends.
func (g *Gate) keepSafe(ctx context.Context) error {
	var keepers errgroup.Group
	kept := map[*device]bool{}
	round, end := context.WithCancel(ctx)
	for ctx.Err() == nil {
		why, changed := g.Watch()
		if why == "" && len(kept) > 0 {
			end()
			_ = keepers.Wait() // they return nil
			clear(kept)
			round, end = context.WithCancel(ctx)
		}
		for _, d := range g.stoppedDevices() {
			if !kept[d] {
				kept[d] = true
				keepers.Go(func() error { g.keep(round, d); return nil })
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	end()
	return keepers.Wait()
}

// stoppedDevices are those to be kept safe now.
func (g *Gate) stoppedDevices() []*device {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []*device
	for _, d := range g.devices {
		if g.stopped != "" && d.driver != nil {
			list = append(list, d)
		}
	}
	return list
}

// keep takes one device to its safe state, and again where that fails, where a
// call has come back late, where everything is stopped once more, and where it sets
// out after all for what it had answered before.
func (g *Gate) keep(ctx context.Context, d *device) {
	select {
	case <-d.again: // this is what it was rung for
	default:
	}
	wait := firstRetry
	for look := false; ; {
		var retry <-chan time.Time
		if look && g.staysSafe(ctx, d) || g.takeToSafety(ctx, d) {
			wait = firstRetry
			if look = g.maySetOut(d); look {
				retry = time.After(firstRetry)
			}
		} else {
			look = false
			retry = time.After(wait)
			wait = min(lastRetry, 2*wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.again:
			look = false
		case <-retry:
		}
	}
}

// maySetOut reports whether a device was told something so shortly ago that it may do
// it yet: many answer first and act then.
func (g *Gate) maySetOut(d *device) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, reads := d.driver.(drivers.SafeReader)
	return reads && !d.used.IsZero() && g.now().Sub(d.used) < slowest
}

// staysSafe reports whether a device that was safe does not say otherwise by now.
func (g *Gate) staysSafe(ctx context.Context, d *device) bool {
	g.mu.Lock()
	driver := d.driver
	g.mu.Unlock()
	return g.lookSafe(ctx, d, driver, nil).State == Reached
}

// offFirst is how long switching off may take before the halt is not kept
// waiting any longer.
const offFirst = 50 * time.Millisecond

// takeToSafety halts a device, past its queues and whatever holds it, and looks
// whether that has helped. What is on for a time is switched off first, since
// its safe state may be to stay as it is. A driver that does not answer within
// StopWithin is told as that, and waited for.
func (g *Gate) takeToSafety(ctx context.Context, d *device) bool {
	began := g.now()
	g.switchOffFirst(ctx, d)
	g.mu.Lock()
	driver := d.driver
	g.mu.Unlock()
	c := &call{dev: d, name: "halt"}
	halted := make(chan error, 1)
	var group errgroup.Group // a group of one that may have to be left behind
	group.Go(func() error {
		_, err := guarded(ctx, c, func(context.Context) (struct{}, error) { return struct{}{}, driver.Halt() })
		g.cameBack(c)
		halted <- err
		return nil
	})
	late := time.NewTimer(d.limits.StopWithin)
	defer late.Stop()
	for {
		select {
		case err := <-halted:
			s := g.lookSafe(ctx, d, driver, err)
			s.Device, s.Took = d.name, g.now().Sub(began)
			g.noteSafe(d, s)
			return s.State == Reached
		case <-late.C:
			if g.hangs(c) {
				g.noteSafe(d, Safe{Device: d.name, State: Unsafe, Took: g.now().Sub(began), Err: fmt.Sprintf("its driver has not answered within %v; switch it off by hand", d.limits.StopWithin)})
			}
		case <-ctx.Done():
			return false
		}
	}
}

// switchOffFirst switches off what is on for a time.
func (g *Gate) switchOffFirst(ctx context.Context, d *device) {
	g.mu.Lock()
	o := d.off
	g.mu.Unlock()
	if o == nil || o.at.IsZero() {
		return
	}
	done := make(chan struct{})
	var group errgroup.Group // a group of one that may have to be left behind
	group.Go(func() error {
		defer close(done)
		c := &call{dev: d, name: "switch off", limit: offFirst, line: d.acting}
		if _, err := run(ctx, g, c, func(ctx context.Context) (struct{}, error) { return struct{}{}, o.sw.Switch(ctx, false) }); err == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.wentOff(d, o)
		}
		return nil
	})
	late := time.NewTimer(offFirst)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// asItIs is said of what a stop has not touched because its owner has it so.
const asItIs = "left as it is, for it has safe: keep; what it does goes on"

// lookSafe asks a device that was halted whether it is safe, where it can tell.
func (g *Gate) lookSafe(ctx context.Context, d *device, driver drivers.Device, err error) Safe {
	if err != nil {
		return Safe{State: Unsafe, Err: err.Error()}
	}
	if safeAs(driver) == "keep" {
		return Safe{State: Reached, Err: asItIs}
	}
	r, ok := driver.(drivers.SafeReader)
	if !ok {
		return Safe{State: Reached, Evidence: mess.Acknowledged}
	}
	c := &call{dev: d, name: "read whether it is safe", limit: d.limits.StopWithin, line: make(chan struct{}, 1)}
	switch safe, err := run(ctx, g, c, r.Safe); {
	case err != nil:
		return Safe{State: Reached, Evidence: mess.Acknowledged, Err: "it could not be read back: " + err.Error()}
	case !safe:
		return Safe{State: Unsafe, Err: "it was halted, but reads back as not safe; switch it off by hand"}
	}
	return Safe{State: Reached, Evidence: mess.ReadBack}
}

// noteSafe keeps what came of a stop for the report, and says it.
func (g *Gate) noteSafe(d *device, s Safe) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.safe, d.level = &s, unknown // its safe state may be on
	g.tell()
	if s.State == Reached {
		d.left = false
		if d.off != nil && s.Evidence == mess.ReadBack && safeAs(d.driver) == "off" {
			d.off.was = true
		}
		g.log.Info("safe", "device", d.name, "evidence", s.Evidence, "took", s.Took)
		return
	}
	g.log.Error("not safe", "device", d.name, "took", s.Took, "err", s.Err)
}

// Hung tells of each device whose driver does not come back what it was called
// for. Such a device is in quarantine: nothing is asked of it until it does.
func (g *Gate) Hung() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	hung := map[string]string{}
	for _, d := range g.devices {
		for c := range d.hung {
			hung[d.name] = c.name
		}
	}
	return hung
}
