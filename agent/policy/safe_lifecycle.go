package policy

import (
	"context"

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
