package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Watchdog is a watchdog: a separate process that switches devices off if this one cannot. A
// device outside its care is always ready.
type Watchdog interface {
	// Ready returns why the watchdog cannot cover a device now, or nil.
	Ready(device string) error
	// WillBeOn announces that a device will be on for at most left; 0 means without limit. The caller
	// may switch the device on after On returns nil.
	WillBeOn(device string, left time.Duration) error
	// MayBeOn does the same as On for a device that may already be on; the caller does not wait.
	MayBeOn(device string, left time.Duration)
	// IsOff reports that the device is off.
	IsOff(device string)
}

// watchdogCoverage is the optional interface of a Watchdog that reports whether it watches a device.
type watchdogCoverage interface{ Watches(device string) bool }

// noWatchdog is the Watchdog that watches nothing.
type noWatchdog struct{}

func (noWatchdog) Ready(string) error                   { return nil }
func (noWatchdog) WillBeOn(string, time.Duration) error { return nil }
func (noWatchdog) MayBeOn(string, time.Duration)        {}
func (noWatchdog) IsOff(string)                         {}

// watchdogReady rejects switching on if no watchdog could switch the device off after this program
// dies.
func (g *Policy) watchdogReady(d *device, p capabilities.Plan) error {
	if !isEnergizing(p) {
		return nil
	}
	return watchdogRejection(d, g.watchdog.Ready(d.name))
}

func watchdogRejection(d *device, err error) error {
	if err == nil {
		return nil
	}
	return &Rejection{Device: d.name, Rule: "guard", Retry: time.Second, Text: fmt.Sprintf("%v, and only the watchdog could switch the device off if messkit died; ask again in a second", err)}
}

// switchOn sets the pending switch-off and then runs do, which switches the device on.
func (p *Pass) switchOn(ctx context.Context, s drivers.Switch, do func(context.Context) error) error {
	was := p.OffIn() > 0
	due, undo, err := p.scheduleOff(ctx, s) // before the call: a failed call may have worked
	if err != nil {
		return err
	}
	left := due.Sub(p.g.now())
	switch a, timed := s.(drivers.AutoOff); {
	case !due.IsZero() && left <= 0:
		undo()
		return &Rejection{Device: p.dev.name, Rule: "max_on", Text: "its time was over before messkit could switch it on; ask again"}
	case p.renew != nil && p.g.since(p.permissionAsked) > FreshFor:
		undo()
		return errOutdated
	case timed && (was || !due.IsZero()):
		var err error
		if due.IsZero() { // else its own timer would end a state without end
			err = a.Switch(ctx, true)
		} else {
			began := p.g.now()
			if err = a.SwitchFor(ctx, true, left); err == nil {
				p.g.setDeviceTimer(p.dev, began, a, left)
			}
		}
		if err == nil && p.order.Command != capabilities.SetSwitch && p.order.Command != capabilities.Toggle {
			if err = do(ctx); err != nil {
				err = fmt.Errorf("messkit switched it on, and then: %v", err) // not wrapped: the device is already on
			}
		}
		return err
	}
	return do(ctx)
}

// setDeviceTimer records when the device's own timer, set at began, switches it off.
func (g *Policy) setDeviceTimer(d *device, began time.Time, a drivers.AutoOff, left time.Duration) {
	left = timerFor(a, left)
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.pending != nil && left > 0 {
		d.pending.deviceTimer = began.Add(left)
	}
}

// scheduleOff records the pending switch-off of a device that is about to go on, here and at the
// watchdog. due is zero if the device may stay on. undo reverts this if the act failed.
func (p *Pass) scheduleOff(ctx context.Context, s drivers.Switch) (due time.Time, undo func(), err error) {
	g, d := p.g, p.dev
	g.mu.Lock()
	g.applySuspend()
	p.offPlanned = false
	on, due, in := p.offTimes(g.now())
	before, level, o := d.pending, d.level, &pendingOff{at: due, onSince: on, output: s, timed: p.order.For > 0}
	d.pending, d.level = o, levelOn
	g.notifyTimers()
	g.mu.Unlock()
	undo = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if d.pending == o {
			d.pending, d.level = before, level
			g.restorePendingOff(d)
			g.notifyTimers()
		}
		g.updateWatchdog(d)
	}
	if err := g.watchdog.WillBeOn(d.name, in); err != nil {
		undo()
		return due, nil, watchdogRejection(d, err)
	}
	if _, timed := s.(drivers.AutoOff); timed {
		_ = g.writePendingOff(ctx, d, o) // its own timer switches it off, and Run retries the write
	} else if err := g.writePendingOff(ctx, d, o); err != nil && !due.IsZero() {
		undo()
		return due, nil, &Rejection{Device: d.name, Rule: "max_on", Text: fmt.Sprintf("the journal cannot record when to switch it off (%v); check the disk", err)}
	}
	return due, undo, nil
}

// offTimes returns the time at which the device goes off if the plan switches it on now, and the
// remaining duration. Zero means that it may stay on. on is the time since when it is then on.
// The caller holds Policy.mu.
func (p *Pass) offTimes(now time.Time) (on, due time.Time, in time.Duration) {
	limits := *p.dev.limits
	on, in = p.dev.onSince(now), offIn(limits, p.order.Plan)
	if b := p.order.Began; b.Before(on) && b.Add(limits.MaxOn).After(now) { // else that period is over, and this one is new
		on = b
	}
	if in > 0 {
		due = now.Add(in)
	}
	if limit := limits.MaxOn; limit > 0 && on.Add(limit).Before(due) { // another request does not extend the time
		due = on.Add(limit)
		in = max(1, due.Sub(now))
	}
	return on, due, in
}

// updateWatchdog reports the state of a device to the watchdog. The caller holds Policy.mu.
func (g *Policy) updateWatchdog(d *device) {
	switch {
	case d.pending == nil:
		g.watchdog.IsOff(d.name)
	case d.pending.at.IsZero():
		g.watchdog.MayBeOn(d.name, 0)
	default:
		g.watchdog.MayBeOn(d.name, max(1, d.pending.at.Sub(g.now())))
	}
}

// Go's timers and durations stand still while the machine is suspended, but a permission grows
// old and the longest time on passes.

// WithSuspendTime sets the source of the time that the machine has been suspended since boot.
func WithSuspendTime(slept func() time.Duration) Option {
	return func(g *Policy) { g.suspended = slept }
}

// suspendCheckInterval is the interval at which Run checks for a suspend while a switch-off is pending.
const suspendCheckInterval = 500 * time.Millisecond

// moment is a point in time with the suspended time until then.
type moment struct {
	at        time.Time
	suspended time.Duration
}

func (g *Policy) moment() moment { return moment{g.now(), g.suspended()} }

// since returns the time since a moment; it includes the time that the machine has slept.
func (g *Policy) since(m moment) time.Duration {
	return g.now().Sub(m.at) + max(0, g.suspended()-m.suspended)
}

// applySuspend subtracts the time that the machine has slept from the times at which devices go off.
// The caller holds Policy.mu.
func (g *Policy) applySuspend() {
	d := g.suspendWatch.Resumed()
	if d == 0 {
		return
	}
	g.log.Warn("the machine slept; devices that are on for a time go off earlier", "for", d.Round(time.Millisecond))
	for _, dev := range g.devices {
		if o := dev.pending; o != nil && !o.at.IsZero() {
			o.at, o.onSince = o.at.Add(-d), o.onSince.Add(-d)
			g.updateWatchdog(dev)
		}
	}
	g.notifyTimers()
}

// renewPermission asks for a new permission. The machine may sleep during the request.
func (p *Pass) renewPermission(ctx context.Context) error {
	slept := p.g.suspended()
	asked, err := p.renew(ctx)
	if err == nil {
		p.permissionAsked = moment{asked, slept}
	}
	return err
}
