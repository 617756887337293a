package policy

import (
	"context"
	"errors"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// MayBeActive reports whether this program may have left a device active: the device has acted, or may
// have, and no later fact shows that it is inactive.
func (g *Policy) MayBeActive(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.device(name).left
}

// tracked runs an act and records whether it leaves the device active.
func tracked[T any](ctx context.Context, p *Pass, f func(context.Context) (T, error)) (T, error) {
	p.g.mu.Lock()
	before := p.dev.left
	p.dev.left = true // during the act, and if it does not return
	if p.dev.off != nil && p.dev.off.stops {
		p.dev.off = nil // a new command replaces the repeated stop
		p.g.ring()
	}
	p.g.mu.Unlock()
	v, err := f(ctx)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	_, refused := errors.AsType[*Rejection](err)
	switch {
	case err == nil && inert(p.order.Plan):
		p.dev.calm()
	case refused && moves(p.order.Plan): // it moved until then
	case refused, untouched(err):
		p.dev.left = p.dev.left && before
	case errors.Is(err, drivers.ErrMayAct):
		p.unanswered = true
		if c := p.order.Command; c != capabilities.Pause && c != capabilities.Resume { // a stop would end the paused or resumed activity
			p.g.stopAgain(p.dev)
		}
	}
	return v, err
}

// Unanswered reports whether the device has not answered a command of this pass and may still
// carry it out.
func (p *Pass) Unanswered() bool {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return p.unanswered
}

// stopAgain schedules repeated stop commands for a device that may still be moving, until it
// acknowledges one or gets another command. The caller holds Gate.mu.
func (g *Policy) stopAgain(d *device) {
	s, ok := d.driver.(drivers.Stopper)
	if !ok || d.off != nil && !d.off.stops {
		return
	}
	d.off = &off{at: g.now().Add(firstRetry), on: g.now(), sw: stopping{s}, stops: true}
	g.ring()
}

// stopping adapts a Stopper to a Switch: switching it off stops it.
type stopping struct{ drivers.Stopper }

func (s stopping) Switch(ctx context.Context, _ bool) error {
	_, err := s.Stop(ctx)
	return err
}

// untouched reports whether a driver's error says that it did nothing.
func untouched(err error) bool {
	return errors.Is(err, drivers.ErrNothingDone) || errors.Is(err, drivers.ErrBusy) || errors.Is(err, drivers.ErrNotStarted) && !errors.Is(err, drivers.ErrHalted)
}

// inert reports whether a completed plan leaves the device inactive.
func inert(p capabilities.Plan) bool {
	switch p.Command {
	case capabilities.Clean, capabilities.CleanSpot, capabilities.Move:
		return true
	case capabilities.Pause:
		return false // the paused activity remains, and a person may resume it
	}
	return turnsOff(p)
}

// calm records that a device is inactive, unless its safe level is on. The caller holds
// Gate.mu.
func (d *device) calm() {
	if safeAs(d.driver) != "on" {
		d.left = false
	}
}
