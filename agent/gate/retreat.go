package gate

import (
	"context"
	"errors"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Retreat switches the device to its safe level when the plan's own act was cut short:
// its requester wants it no more, or the program ends. It waits until the driver has
// come back from that act, asks for no permission, and leaves it to a stop where there
// is one.
func (p *Pass) Retreat(ctx context.Context, s drivers.Switch, on bool) error {
	name := map[bool]string{true: "switch on", false: "switch off"}[on]
	c := &call{dev: p.dev, name: name, limit: p.dev.limits.Timeout, line: p.dev.acting, acts: true}
	_, err := run(ctx, p.g, c, func(ctx context.Context) (struct{}, error) {
		p.g.mu.Lock()
		no := p.g.notStopped(p.dev, p.order.Plan)
		p.g.mu.Unlock()
		if no != nil {
			return struct{}{}, no
		}
		err := s.Switch(ctx, on)
		if err == nil || errors.Is(err, drivers.ErrMayAct) { // it has answered all, or says that it has not
			p.g.mu.Lock()
			p.unanswered = err != nil
			p.g.mu.Unlock()
		}
		return struct{}{}, err
	})
	if err == nil && !on {
		p.g.disarm(p.dev)
	}
	return err
}

// Insist has the device told again until it takes its safe level, or is told something
// else: it could not be told, or did not heed.
func (p *Pass) Insist(s drivers.Switch, on bool) {
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.off != nil && d.off.wait > 0 {
		return // it is at it
	}
	o := &off{at: g.now().Add(firstRetry), on: d.onSince(g.now()), sw: s}
	if on {
		o.sw, o.stops = back{s}, true
	}
	d.off, d.left = o, true
	g.ring()
}

// back is a Switch that is on when it is safe.
type back struct{ switched }

type switched = drivers.Switch

func (s back) Switch(ctx context.Context, _ bool) error { return s.switched.Switch(ctx, true) }

// Ends says who switches a device off.
type Ends struct {
	Device   string
	In       time.Duration // until this program does; 0: it does not
	Own      time.Duration // until the device's own timer does, whatever becomes of this program; 0: it does not
	Watchdog bool          // a process of its own does where this program cannot
	Kept     bool          // it stays on where this program ends
}

// Ends says who switches the device off that this pass is about.
func (p *Pass) Ends() Ends {
	e := Ends{Device: p.dev.name, In: p.OffIn()}
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.In == 0 || d.off == nil {
		return e
	}
	if !d.off.own.IsZero() {
		e.Own = max(time.Second, d.off.own.Sub(g.now()).Round(time.Second))
	}
	w, tells := g.guard.(guards)
	e.Kept = safeAs(d.driver) != "off"
	e.Watchdog = tells && w.Watches(d.name)
	return e
}

// ends says who will switch a device off that a plan switches on for a time. mu is held.
func (g *Gate) ends(d *device, p capabilities.Plan) []Ends {
	e := Ends{Device: d.name, In: offIn(*d.limits, p)}
	if e.In == 0 {
		return nil
	}
	if a, timed := d.driver.(drivers.AutoOff); timed {
		e.Own = timerFor(a, e.In)
	}
	w, tells := g.guard.(guards)
	e.Kept, e.Watchdog = safeAs(d.driver) != "off", tells && w.Watches(d.name)
	return []Ends{e}
}

// timerFor is how long the own timer of a device lets it be on; 0: it cannot be set for it.
func timerFor(a drivers.AutoOff, limit time.Duration) time.Duration {
	if l, ok := a.(drivers.TimerLength); ok {
		return l.TimerFor(limit)
	}
	return limit
}

// OffIn is how long it is until the device is switched off by itself; 0 where nothing
// does that.
func (p *Pass) OffIn() time.Duration {
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.off == nil || d.off.at.IsZero() || d.off.stops {
		return 0
	}
	return max(time.Second, d.off.at.Sub(g.now()).Round(time.Second))
}
