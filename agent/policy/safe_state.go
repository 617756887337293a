package policy

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

// SafeResult is the result of taking one device to its safe state.
type SafeResult struct {
	Device   string
	State    SafeState
	Evidence mess.Evidence // evidence for it; "" until the device is safe
	Took     time.Duration // from the call to the driver until the result
	Err      string        // why it is not safe, or why the evidence is no better
}

// SafeState is the progress of a device to its safe state.
type SafeState string

// Values of SafeState.
const (
	StatePending SafeState = "pending" // its driver has not answered yet
	StateSafe    SafeState = "safe"
	StateUnsafe  SafeState = "unsafe" // the gate tries again while the stop lasts
)

// SafeResults returns the result of the last stop for every device, sorted by name; nothing before
// the first stop.
func (g *Policy) SafeResults() []SafeResult {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []SafeResult
	for _, d := range g.devices {
		switch {
		case g.rounds == 0 || d.driver == nil:
		case d.safe == nil:
			list = append(list, SafeResult{Device: d.name, State: StatePending})
		default:
			list = append(list, *d.safe)
		}
	}
	order.By(list, func(a, b SafeResult) int { return strings.Compare(a.Device, b.Device) })
	return list
}

// keepSafe takes every device to its safe state during a stop, each in its own goroutine, and
// keeps it there until Clear or the end of ctx.
func (g *Policy) keepSafe(ctx context.Context) error {
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

// stoppedDevices returns the devices that must be kept safe now.
func (g *Policy) stoppedDevices() []*device {
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

// keep takes one device to its safe state. It repeats that after a failure, after a late call,
// after another stop, and if the device starts late from an earlier command.
func (g *Policy) keep(ctx context.Context, d *device) {
	select {
	case <-d.again: // this call answers that signal
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

// maySetOut reports whether a device may still carry out a recent command: many answer first
// and act later.
func (g *Policy) maySetOut(d *device) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, reads := d.driver.(drivers.SafeReader)
	return reads && !d.used.IsZero() && g.now().Sub(d.used) < slowest
}

// staysSafe reports whether a safe device still reports no other state.
func (g *Policy) staysSafe(ctx context.Context, d *device) bool {
	g.mu.Lock()
	driver := d.driver
	g.mu.Unlock()
	return g.lookSafe(ctx, d, driver, nil).State == StateSafe
}

// offFirst is how long the halt waits for switching off.
const offFirst = 50 * time.Millisecond

// takeToSafety halts a device without regard to queues or running tasks and checks the result.
// It first switches off a device that is on for a time, because its safe state may be keep. It
// reports a driver that does not answer within StopWithin, and waits for it.
func (g *Policy) takeToSafety(ctx context.Context, d *device) bool {
	began := g.now()
	g.switchOffFirst(ctx, d)
	g.mu.Lock()
	driver := d.driver
	g.mu.Unlock()
	c := &call{dev: d, name: "halt"}
	halted := make(chan error, 1)
	var group errgroup.Group // a group of one: the function may return before it
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
			return s.State == StateSafe
		case <-late.C:
			if g.hangs(c) {
				g.noteSafe(d, SafeResult{Device: d.name, State: StateUnsafe, Took: g.now().Sub(began), Err: fmt.Sprintf("its driver has not answered within %v; switch it off by hand", d.limits.StopWithin)})
			}
		case <-ctx.Done():
			return false
		}
	}
}

// switchOffFirst switches off a device that is on for a time.
func (g *Policy) switchOffFirst(ctx context.Context, d *device) {
	g.mu.Lock()
	o := d.off
	g.mu.Unlock()
	if o == nil || o.at.IsZero() {
		return
	}
	done := make(chan struct{})
	var group errgroup.Group // a group of one: the function may return before it
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

// asItIs explains a device that a stop leaves unchanged, because the configuration says so.
const asItIs = "left as it is, for it has safe: keep; what it does goes on"

// lookSafe reads whether a halted device is safe, if it can report that.
func (g *Policy) lookSafe(ctx context.Context, d *device, driver drivers.Device, err error) SafeResult {
	if err != nil {
		return SafeResult{State: StateUnsafe, Err: err.Error()}
	}
	if safeAs(driver) == "keep" {
		return SafeResult{State: StateSafe, Err: asItIs}
	}
	r, ok := driver.(drivers.SafeReader)
	if !ok {
		return SafeResult{State: StateSafe, Evidence: mess.Acknowledged}
	}
	c := &call{dev: d, name: "read whether it is safe", limit: d.limits.StopWithin, line: make(chan struct{}, 1)}
	switch safe, err := run(ctx, g, c, r.Safe); {
	case err != nil:
		return SafeResult{State: StateSafe, Evidence: mess.Acknowledged, Err: "it could not be read back: " + err.Error()}
	case !safe:
		return SafeResult{State: StateUnsafe, Err: "it was halted, but reads back as not safe; switch it off by hand"}
	}
	return SafeResult{State: StateSafe, Evidence: mess.ReadBack}
}

// noteSafe stores the result of a stop for the report and logs it.
func (g *Policy) noteSafe(d *device, s SafeResult) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.safe, d.level = &s, unknown // its safe state may be on
	g.tell()
	if s.State == StateSafe {
		d.left = false
		if d.off != nil && s.Evidence == mess.ReadBack && safeAs(d.driver) == "off" {
			d.off.was = true
		}
		g.log.Info("safe", "device", d.name, "evidence", s.Evidence, "took", s.Took)
		return
	}
	g.log.Error("not safe", "device", d.name, "took", s.Took, "err", s.Err)
}

// Quarantined returns the unfinished call of each device with a hanging driver. Such a device is in
// quarantine: the gate makes no other call until it returns.
func (g *Policy) Quarantined() map[string]string {
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
