package gate

import (
	"context"
	"errors"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Left reports whether this program may have left a device as it must not stay: it
// has acted, or may have, and is not known to be inert since.
func (g *Gate) Left(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.device(name).left
}

// tracked runs an act, and notes how it leaves the device.
func tracked[T any](ctx context.Context, p *Pass, f func(context.Context) (T, error)) (T, error) {
	p.g.mu.Lock()
	before := p.dev.left
	p.dev.left = true // while it runs, and if it does not come back
	if p.dev.off != nil && p.dev.off.stops {
		p.dev.off = nil // it is told something else
		p.g.ring()
	}
	p.g.mu.Unlock()
	v, err := f(ctx)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	_, refused := errors.AsType[*Refusal](err)
	switch {
	case err == nil && inert(p.order.Plan):
		p.dev.calm()
	case refused && moves(p.order.Plan): // it moved until then
	case refused, untouched(err):
		p.dev.left = p.dev.left && before
	case errors.Is(err, drivers.ErrMayAct):
		p.unanswered = true
		if c := p.order.Command; c != capabilities.Pause && c != capabilities.Resume { // a stop would end what they leave
			p.g.stopAgain(p.dev)
		}
	}
	return v, err
}

// Unanswered reports whether the device has not answered a command of this pass, and may
// carry it out yet.
func (p *Pass) Unanswered() bool {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return p.unanswered
}

// stopAgain has what may still be moving be told to stop until it says that it stands,
// or is told something else. Gate.mu is held.
func (g *Gate) stopAgain(d *device) {
	s, ok := d.driver.(drivers.Stopper)
	if !ok || d.off != nil && !d.off.stops {
		return
	}
	d.off = &off{at: g.now().Add(firstRetry), on: g.now(), sw: stopping{s}, stops: true}
	g.ring()
}

// stopping is a Stopper as what can be switched off.
type stopping struct{ drivers.Stopper }

func (s stopping) Switch(ctx context.Context, _ bool) error {
	_, err := s.Stop(ctx)
	return err
}

// untouched reports whether a driver says that nothing was done.
func untouched(err error) bool {
	return errors.Is(err, drivers.ErrNothingDone) || errors.Is(err, drivers.ErrBusy) || errors.Is(err, drivers.ErrNotStarted) && !errors.Is(err, drivers.ErrHalted)
}

// inert reports whether nothing goes on when a plan was carried out.
func inert(p capabilities.Plan) bool {
	switch p.Command {
	case capabilities.Clean, capabilities.CleanSpot, capabilities.Move:
		return true
	case capabilities.Pause:
		return false // it holds what it is at, which a hand lets go on
	}
	return turnsOff(p)
}

// calm notes that nothing goes on with a device. Off is not what all are to be left
// as. Gate.mu is held.
func (d *device) calm() {
	if safeAs(d.driver) != "on" {
		d.left = false
	}
}
