package gate

import (
	"context"

	"github.com/messkit/messkit/drivers"
)

// Start opens a device, within the time of one call. A device that may be on
// then is switched off when its longest time on is over, or the time for which an
// earlier run has switched it on. While everything is stopped it is refused, and the
// device taken to its safe state.
func (g *Gate) Start(ctx context.Context, d drivers.Device, name string) error {
	if err := g.meet(d, name); err != nil {
		return err
	}
	o := g.armStart(d, name) // before the call: a call that is slow may have worked at once
	err := g.life(ctx, name, "start", d.Start)
	g.noteStart(d, name, err)
	if o != nil {
		g.started(name, o, err, err == nil && g.isOff(ctx, d, name))
	}
	return err
}

// noteStart notes that a device was started that is on from then.
func (g *Gate) noteStart(d drivers.Device, name string, err error) {
	l, ok := d.(drivers.Levels)
	if !ok || untouched(err) {
		return
	}
	if initial, _ := l.Levels(); initial == "on" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.device(name).left = true
	}
}

// armStart notes when a device that is being started is to go off; nil if
// never.
func (g *Gate) armStart(d drivers.Device, name string) *off {
	s, ok := d.(drivers.Switch)
	g.mu.Lock()
	defer g.mu.Unlock()
	dev := g.device(name)
	if !ok || dev.off != nil {
		return nil
	}
	if dev.off = g.owed(dev, s); dev.off == nil {
		return nil
	}
	if k, keeps := d.(drivers.TimerKeeper); keeps && dev.off.time {
		k.TimerLeft()
	}
	dev.ending = true         // until it is known whether it is on
	if dev.limits.MaxOn > 0 { // else the guard may have it from an earlier run
		g.tellGuard(dev)
	}
	g.ring()
	return dev.off
}

// started has a device that was started go off at its time. Nothing is to be switched
// off where it is off, or could not be started and was not left on by an earlier run.
func (g *Gate) started(name string, o *off, err error, isOff bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.device(name)
	d.ending = false
	_, due := g.due[name]
	if d.off == o && (isOff || err != nil && !due) { // what is due is told so until it has heard
		g.paid(d)
		if d.off = nil; d.limits.MaxOn > 0 {
			g.tellGuard(d)
		}
	}
	g.ring()
}

// isOff reports whether a device says that it is off. One that says nothing may
// be on.
func (g *Gate) isOff(ctx context.Context, d drivers.Device, name string) bool {
	r, ok := d.(drivers.SwitchReader)
	if !ok {
		return false
	}
	g.mu.Lock()
	dev := g.device(name)
	g.mu.Unlock()
	on, err := run(ctx, g, &call{dev: dev, name: "read state", limit: dev.limits.Timeout, line: dev.look}, r.On)
	return err == nil && !on
}

// Halt takes a device to its safe state when the program ends, within the time of
// one call, whatever else is going on with it. What goes on safely by itself is
// left to that, unless everything is stopped.
func (g *Gate) Halt(ctx context.Context, d drivers.Device, name string) error {
	what, f := "halt", d.Halt
	if l, ok := d.(drivers.Leaver); ok && g.Stopped() == "" {
		what, f = "leave", l.Leave
	}
	err := g.life(ctx, name, what, f)
	if err == nil {
		g.ended(d, name)
	}
	return err
}

// ended notes that a device is as it is to be left. One that is left as it is may be on.
func (g *Gate) ended(d drivers.Device, name string) {
	g.mu.Lock()
	dev := g.device(name)
	dev.left = false
	if safeAs(d) == "off" {
		g.paid(dev)
	}
	g.mu.Unlock()
	unlessItHangs(func() { g.keepPaid() })
}

// safeAs is the level of a device that is safe: on, off or keep; "" where it has none.
func safeAs(d drivers.Device) string {
	if k, ok := d.(drivers.Keeper); ok && k.Keeps() {
		return "keep"
	}
	l, ok := d.(drivers.Levels)
	if !ok {
		return ""
	}
	_, safe := l.Levels()
	return safe
}

func (g *Gate) life(ctx context.Context, name, what string, f func() error) error {
	g.mu.Lock()
	d := g.device(name)
	g.mu.Unlock()
	c := &call{dev: d, name: what, limit: d.limits.Timeout, line: make(chan struct{}, 1), acts: what == "start"}
	_, err := run(ctx, g, c, func(context.Context) (struct{}, error) { return struct{}{}, f() })
	return err
}
