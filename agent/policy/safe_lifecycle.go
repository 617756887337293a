package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Start opens a device within the time of one call. If the device may be on then, the policy
// switches it off after its max_on, or after the time that an earlier run has set. During a
// stop, Start rejects the device, and Run takes it to its safe state.
func (g *Policy) Start(ctx context.Context, d drivers.Device, name string) error {
	if err := g.register(d, name); err != nil {
		return err
	}
	o := g.scheduleOffAtStart(d, name) // before the call: a slow call may have worked at once
	err := g.lifecycleCall(ctx, name, "start", d.Start)
	g.markActiveAtStart(d, name, err)
	if o != nil {
		g.endStart(name, o, err, err == nil && g.isOff(ctx, d, name))
	}
	return err
}

// markActiveAtStart records that a device is on from its start.
func (g *Policy) markActiveAtStart(d drivers.Device, name string, err error) {
	l, ok := d.(drivers.StartHaltStates)
	if !ok || didNothing(err) {
		return
	}
	if initial, _ := l.StartHaltStates(); initial == "on" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.device(name).mayBeActive = true
	}
}

// scheduleOffAtStart records when a device that is starting must go off; nil if never.
func (g *Policy) scheduleOffAtStart(d drivers.Device, name string) *pendingOff {
	s, ok := d.(drivers.Switch)
	g.mu.Lock()
	defer g.mu.Unlock()
	dev := g.device(name)
	if !ok || dev.pending != nil {
		return nil
	}
	if dev.pending = g.pendingOffAtStart(dev, s); dev.pending == nil {
		return nil
	}
	if k, keeps := d.(drivers.PersistentTimer); keeps && dev.pending.timed {
		k.TimerMayBeSet()
	}
	dev.switchingOff = true   // until the policy knows whether it is on
	if dev.limits.MaxOn > 0 { // else the watchdog may have it from an earlier run
		g.updateWatchdog(dev)
	}
	g.notifyTimers()
	return dev.pending
}

// endStart schedules the switch-off of a device after its start. It drops the switch-off if the
// device is off, or if the start failed and no earlier run had left the device on.
func (g *Policy) endStart(name string, o *pendingOff, err error, isOff bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.device(name)
	d.switchingOff = false
	_, due := g.pendingOffs[name]
	if d.pending == o && (isOff || err != nil && !due) { // a pending switch-off remains until the device takes it
		g.clearPendingOff(d)
		if d.pending = nil; d.limits.MaxOn > 0 {
			g.updateWatchdog(d)
		}
	}
	g.notifyTimers()
}

// isOff reports whether a device reports off. One without readback may be on.
func (g *Policy) isOff(ctx context.Context, d drivers.Device, name string) bool {
	r, ok := d.(drivers.SwitchReader)
	if !ok {
		return false
	}
	g.mu.Lock()
	dev := g.device(name)
	g.mu.Unlock()
	on, err := run(ctx, g, &call{dev: dev, name: "read state", limit: dev.limits.Timeout, lock: dev.readLock}, r.On)
	return err == nil && !on
}

// Halt takes a device to its safe state at program end within the time of one call, even while
// another call runs. A device that can safely continue alone does so, except during a stop.
func (g *Policy) Halt(ctx context.Context, d drivers.Device, name string) error {
	what, f := "halt", d.Halt
	if l, ok := d.(drivers.Detacher); ok && g.Stopped() == "" {
		what, f = "leave", l.Detach
	}
	err := g.lifecycleCall(ctx, name, what, f)
	if err == nil {
		g.endHalt(d, name)
	}
	return err
}

// Retire takes a device to its safe state before the program removes the device or its driver. It
// switches off a device that is on for a time, even if its safe state is keep. It refuses to do so
// during a stop, while a task has the device, and while a call of its driver hangs. If the device may
// still be on or moving afterwards, Retire starts it again, and returns an error. After a nil error
// the policy calls the driver no more. The time of the last act and the budgets stay.
func (g *Policy) Retire(ctx context.Context, d drivers.Device, name string) error {
	if no := g.StopRejection(); no != nil {
		return no
	}
	if call, hangs := g.Quarantined()[name]; hangs {
		return fmt.Errorf("%s: its driver has not returned from %q; check the device, and restart messkit", name, call)
	}
	g.mu.Lock()
	dev := g.device(name)
	g.mu.Unlock()
	select {
	case dev.turn <- struct{}{}:
	default:
		return busyRejection(dev, g.holder(dev))
	}
	g.setHolder(dev, "messkit removes or changes it")
	defer (&Pass{g: g, dev: dev, hasTurn: true}).End()
	err := g.switchOffForRetire(ctx, dev)
	if err == nil {
		if err = g.Halt(ctx, d, name); err != nil && !g.MayBeActive(name) {
			g.log.Warn("not reached when it was removed; it was not in use", "device", name, "err", err)
			err = nil
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: it may be on or moving, because messkit could not take it to its safe state; look at it, and try again: %w", name, err)
		return errors.Join(err, g.Start(ctx, d, name))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	dev.driver, dev.pending, dev.lastStates, dev.safeResult, dev.level, dev.mayBeActive = nil, nil, nil, nil, levelUnknown, false
	g.notifyTimers()
	g.notifyChanged()
	return nil
}

// switchOffForRetire switches off a device that is on for a time, or that has to stop.
func (g *Policy) switchOffForRetire(ctx context.Context, dev *device) error {
	g.mu.Lock()
	o := dev.pending
	g.mu.Unlock()
	if o == nil || o.at.IsZero() {
		return nil
	}
	c := &call{dev: dev, name: "switch off", limit: dev.limits.Timeout, lock: dev.actLock}
	_, err := run(ctx, g, c, func(ctx context.Context) (struct{}, error) { return struct{}{}, o.output.Switch(ctx, false) })
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && (o.reportedOff || o.isStop && errors.Is(err, drivers.ErrNotStarted)) {
		return nil // it is off, or stands still
	}
	if err == nil {
		g.confirmOff(dev, o)
	}
	return err
}

// endHalt records that a device is in its final state. If that state is not off, the device may
// be on.
func (g *Policy) endHalt(d drivers.Device, name string) {
	g.mu.Lock()
	dev := g.device(name)
	dev.mayBeActive = false
	if safeLevel(d) == "off" {
		g.clearPendingOff(dev)
	}
	g.mu.Unlock()
	_ = withinDiskTime(context.Background(), func() error { g.writeUnwritten(); return nil }) // it has logged the error
}

// safeLevel returns the safe level of a device: on, off or keep; "" if it has none.
func safeLevel(d drivers.Device) string {
	if k, ok := d.(drivers.StateKeeper); ok && k.KeepsState() {
		return "keep"
	}
	l, ok := d.(drivers.StartHaltStates)
	if !ok {
		return ""
	}
	_, safe := l.StartHaltStates()
	return safe
}

func (g *Policy) lifecycleCall(ctx context.Context, name, what string, f func() error) error {
	g.mu.Lock()
	d := g.device(name)
	g.mu.Unlock()
	c := &call{dev: d, name: what, limit: d.limits.Timeout, lock: make(chan struct{}, 1), acts: what == "start"}
	_, err := run(ctx, g, c, func(context.Context) (struct{}, error) { return struct{}{}, f() })
	return err
}

// ReturnToSafeLevel switches the device to its safe level after the plan's own act was cut
// short: the requester cancelled it, or the program ends. It waits until the driver returns
// from that act and needs no permission. During a stop it does nothing, because the stop
// does the same.
func (p *Pass) ReturnToSafeLevel(ctx context.Context, s drivers.Switch, on bool) error {
	name := map[bool]string{true: "switch on", false: "switch off"}[on]
	c := &call{dev: p.dev, name: name, limit: p.dev.limits.Timeout, lock: p.dev.actLock, acts: true}
	_, err := run(ctx, p.g, c, func(ctx context.Context) (struct{}, error) {
		p.g.mu.Lock()
		no := p.g.notStopped(p.dev, p.order.Plan)
		p.g.mu.Unlock()
		if no != nil {
			return struct{}{}, no
		}
		err := s.Switch(ctx, on)
		if err == nil || errors.Is(err, drivers.ErrMayAct) { // it has answered all commands, or reports that it has not
			p.g.mu.Lock()
			p.unanswered = err != nil
			p.g.mu.Unlock()
		}
		return struct{}{}, err
	})
	if err == nil && !on {
		p.g.setOff(p.dev)
	}
	return err
}

// EnforceSafeLevel makes Run repeat the safe level until the device takes it or gets another
// command.
func (p *Pass) EnforceSafeLevel(s drivers.Switch, on bool) {
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.pending != nil && d.pending.retryDelay > 0 {
		return // repeats are already running
	}
	o := &pendingOff{at: g.now().Add(firstRetry), onSince: d.onSince(g.now()), output: s}
	if on {
		o.output, o.isStop = safeOnOutput{s}, true
	}
	d.pending, d.mayBeActive = o, true
	g.notifyTimers()
}

// safeOnOutput adapts a Switch whose safe level is on: switching it off switches it on.
type safeOnOutput struct{ switched }

type switched = drivers.Switch

func (s safeOnOutput) Switch(ctx context.Context, _ bool) error { return s.switched.Switch(ctx, true) }

// SwitchOff describes what switches a device off.
type SwitchOff struct {
	Device        string
	In            time.Duration // until this program does; 0: never
	DeviceTimer   time.Duration // until the device's own timer does, even if this program dies; 0: never
	Watchdog      bool          // the watchdog does if this program cannot
	StaysOnAtExit bool          // it stays on when this program ends
}

// SwitchOff returns what will switch off the device of this pass.
func (p *Pass) SwitchOff() SwitchOff {
	e := SwitchOff{Device: p.dev.name, In: p.OffIn()}
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.In == 0 || d.pending == nil {
		return e
	}
	if !d.pending.deviceTimer.IsZero() {
		e.DeviceTimer = max(time.Second, d.pending.deviceTimer.Sub(g.now()).Round(time.Second))
	}
	w, tells := g.watchdog.(watchdogCoverage)
	e.StaysOnAtExit = safeLevel(d.driver) != "off"
	e.Watchdog = tells && w.Watches(d.name)
	return e
}

// ends returns what will switch off a device that a plan switches on for a time. The caller
// holds Policy.mu.
func (g *Policy) ends(d *device, p capabilities.Plan) []SwitchOff {
	e := SwitchOff{Device: d.name, In: offIn(*d.limits, p)}
	if e.In == 0 {
		return nil
	}
	if a, timed := d.driver.(drivers.AutoOff); timed {
		e.DeviceTimer = timerFor(a, e.In)
	}
	w, tells := g.watchdog.(watchdogCoverage)
	e.StaysOnAtExit, e.Watchdog = safeLevel(d.driver) != "off", tells && w.Watches(d.name)
	return []SwitchOff{e}
}

// timerFor returns how long the device's own timer lets it be on; 0 if the timer cannot do
// that.
func timerFor(a drivers.AutoOff, limit time.Duration) time.Duration {
	if l, ok := a.(drivers.TimerRounder); ok {
		return l.RoundTimer(limit)
	}
	return limit
}

// OffIn returns the time until the device goes off automatically; 0 if it does not.
func (p *Pass) OffIn() time.Duration {
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.pending == nil || d.pending.at.IsZero() || d.pending.isStop {
		return 0
	}
	return max(time.Second, d.pending.at.Sub(g.now()).Round(time.Second))
}
