package gate

import (
	"context"

	"github.com/messkit/messkit/drivers"
)

// Start opens a device, within the time of one call. A device that may be on
// then is switched off when its longest time on is over, as any other. While
// everything is stopped it is refused, and the device taken to its safe state.
func (g *Gate) Start(ctx context.Context, d drivers.Device, name string) error {
	if err := g.meet(d, name); err != nil {
		return err
	}
	o := g.armStart(d, name) // before the call: a call that is slow may have worked at once
	err := g.life(ctx, name, "start", d.Start)
	g.noteStart(d, name, err)
	if o != nil && (err != nil || g.isOff(ctx, d, name)) {
		g.disarmStart(name, o)
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
	if !ok || dev.limits.MaxOn == 0 || dev.off != nil {
		return nil
	}
	dev.off = &off{at: g.now().Add(dev.limits.MaxOn), on: g.now(), sw: s}
	g.tellGuard(dev)
	g.ring()
	return dev.off
}

func (g *Gate) disarmStart(name string, o *off) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d := g.device(name); d.off == o {
		d.off = nil
		g.tellGuard(d)
		g.ring()
	}
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
		g.mu.Lock()
		defer g.mu.Unlock()
		g.device(name).left = false
	}
	return err
}

func (g *Gate) life(ctx context.Context, name, what string, f func() error) error {
	g.mu.Lock()
	d := g.device(name)
	g.mu.Unlock()
	c := &call{dev: d, name: what, limit: d.limits.Timeout, line: make(chan struct{}, 1), acts: what == "start"}
	_, err := run(ctx, g, c, func(context.Context) (struct{}, error) { return struct{}{}, f() })
	return err
}
