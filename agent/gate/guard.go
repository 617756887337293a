package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Guard is a process of its own that switches off what this one cannot any
// more. What it does not watch is always ready, and not its business.
type Guard interface {
	// Ready tells why a device cannot be switched on now.
	Ready(device string) error
	// On announces that a device is going to be on, for at most left; 0 is without a
	// limit. The device may be switched on when it returns nil.
	On(device string, left time.Duration) error
	// Note is On for a device that may be on already: nobody waits for it.
	Note(device string, left time.Duration)
	// Off says that the device is off.
	Off(device string)
}

// guards reports whether a Guard watches a device, where it tells that.
type guards interface{ Watches(device string) bool }

// unguarded watches nothing.
type unguarded struct{}

func (unguarded) Ready(string) error             { return nil }
func (unguarded) On(string, time.Duration) error { return nil }
func (unguarded) Note(string, time.Duration)     {}
func (unguarded) Off(string)                     {}

// watched refuses to switch on what nobody would switch off if this program
// died.
func (g *Gate) watched(d *device, p capabilities.Plan) error {
	if !energises(p) {
		return nil
	}
	return noGuard(d, g.guard.Ready(d.name))
}

func noGuard(d *device, err error) error {
	if err == nil {
		return nil
	}
	return &Refusal{Device: d.name, Rule: "guard", Retry: time.Second, Text: fmt.Sprintf("%v, and would have to switch it off if this program died; ask again in a second", err)}
}

// switchOn does what switches a device on, when nothing else stands in its way.
func (p *Pass) switchOn(ctx context.Context, s drivers.Switch, do func(context.Context) error) error {
	was := p.OffIn() > 0
	due, undo, err := p.arm(ctx, s) // before the call: a call that fails may have worked
	if err != nil {
		return err
	}
	left := due.Sub(p.g.now())
	switch a, timed := s.(drivers.AutoOff); {
	case !due.IsZero() && left <= 0:
		undo()
		return &Refusal{Device: p.dev.name, Rule: "max_on", Text: "its time was over before it could be switched on; ask again"}
	case p.again != nil && p.g.since(p.asked) > Fresh:
		undo()
		return errOld
	case timed && (was || !due.IsZero()):
		var err error
		if due.IsZero() { // or its own timer would end what has no end
			err = a.Switch(ctx, true)
		} else {
			began := p.g.now()
			if err = a.SwitchFor(ctx, true, left); err == nil {
				p.g.timed(p.dev, began, a, left)
			}
		}
		if err == nil && p.order.Command != capabilities.SetSwitch && p.order.Command != capabilities.Toggle {
			if err = do(ctx); err != nil {
				err = fmt.Errorf("it was switched on, and then: %v", err) // not wrapped: something was done
			}
		}
		return err
	}
	return do(ctx)
}

// timed notes when the own timer of a device switches it off, which was set at began.
func (g *Gate) timed(d *device, began time.Time, a drivers.AutoOff, left time.Duration) {
	left = timerFor(a, left)
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.off != nil && left > 0 {
		d.off.own = began.Add(left)
	}
}

// arm notes when a device that is being switched on is to go off, here and with
// the guard; due is zero where it may stay on. undo takes it back where nothing
// was done.
func (p *Pass) arm(ctx context.Context, s drivers.Switch) (due time.Time, undo func(), err error) {
	g, d := p.g, p.dev
	g.mu.Lock()
	g.wake()
	p.foreseen = false
	on, due, in := p.goesOff(g.now())
	before, level, o := d.off, d.level, &off{at: due, on: on, sw: s, time: p.order.For > 0}
	d.off, d.level = o, isOn
	g.ring()
	g.mu.Unlock()
	undo = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if d.off == o {
			d.off, d.level = before, level
			g.owesAs(d)
			g.ring()
		}
		g.tellGuard(d)
	}
	if err := g.guard.On(d.name, in); err != nil {
		undo()
		return due, nil, noGuard(d, err)
	}
	if _, timed := s.(drivers.AutoOff); timed {
		_ = g.owe(ctx, d, o) // it sees to that itself, and the disk is told again
	} else if err := g.owe(ctx, d, o); err != nil && !due.IsZero() {
		undo()
		return due, nil, &Refusal{Device: d.name, Rule: "max_on", Text: fmt.Sprintf("it could not be written down when it is to be switched off (%v); look at the disk", err)}
	}
	return due, undo, nil
}

// goesOff returns when the device goes off if the plan switches it on now, and in how long.
// Zero means that it may stay on. on is since when it is on then. Gate.mu is held.
func (p *Pass) goesOff(now time.Time) (on, due time.Time, in time.Duration) {
	limits := *p.dev.limits
	on, in = p.dev.onSince(now), offIn(limits, p.order.Plan)
	if b := p.order.Began; b.Before(on) && b.Add(limits.MaxOn).After(now) { // else it is over, and this is another time
		on = b
	}
	if in > 0 {
		due = now.Add(in)
	}
	if limit := limits.MaxOn; limit > 0 && on.Add(limit).Before(due) { // asking again makes it no longer
		due = on.Add(limit)
		in = max(1, due.Sub(now))
	}
	return on, due, in
}

// tellGuard tells the guard how a device stands. mu is held.
func (g *Gate) tellGuard(d *device) {
	switch {
	case d.off == nil:
		g.guard.Off(d.name)
	case d.off.at.IsZero():
		g.guard.Note(d.name, 0)
	default:
		g.guard.Note(d.name, max(1, d.off.at.Sub(g.now())))
	}
}
