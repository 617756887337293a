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
	return g.device(name).mayBeActive
}

// trackEffect runs an act and records whether it leaves the device active.
func trackEffect[T any](ctx context.Context, p *Pass, f func(context.Context) (T, error)) (T, error) {
	p.g.mu.Lock()
	before := p.dev.mayBeActive
	p.dev.mayBeActive = true // during the act, and if it does not return
	if p.dev.pending != nil && p.dev.pending.isStop {
		p.dev.pending = nil // a new command replaces the repeated stop
		p.g.notifyTimers()
	}
	p.g.mu.Unlock()
	v, err := f(ctx)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	_, refused := errors.AsType[*Rejection](err)
	switch {
	case err == nil && leavesInactive(p.order.Plan):
		p.dev.markInactive()
	case refused && isMotion(p.order.Plan): // it moved until then
	case refused, didNothing(err):
		p.dev.mayBeActive = p.dev.mayBeActive && before
	case errors.Is(err, drivers.ErrMayAct):
		p.unanswered = true
		if c := p.order.Command; c != capabilities.Pause && c != capabilities.Resume { // a stop would end the paused or resumed activity
			p.g.repeatStop(p.dev)
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

// repeatStop schedules repeated stop commands for a device that may still be moving, until it
// acknowledges one or gets another command. The caller holds Policy.mu.
func (g *Policy) repeatStop(d *device) {
	s, ok := d.driver.(drivers.Stopper)
	if !ok || d.pending != nil && !d.pending.isStop {
		return
	}
	d.pending = &pendingOff{at: g.now().Add(firstRetry), onSince: g.now(), output: stopOutput{s}, isStop: true}
	g.notifyTimers()
}

// stopOutput adapts a Stopper to a Switch: switching it off stops it.
type stopOutput struct{ drivers.Stopper }

func (s stopOutput) Switch(ctx context.Context, _ bool) error {
	_, err := s.Stop(ctx)
	return err
}

// didNothing reports whether a driver's error says that it did nothing.
func didNothing(err error) bool {
	return errors.Is(err, drivers.ErrNothingDone) || errors.Is(err, drivers.ErrBusy) || errors.Is(err, drivers.ErrNotStarted) && !errors.Is(err, drivers.ErrHalted)
}

// leavesInactive reports whether a completed plan leaves the device inactive.
func leavesInactive(p capabilities.Plan) bool {
	switch p.Command {
	case capabilities.Clean, capabilities.CleanSpot, capabilities.Move:
		return true
	case capabilities.Pause:
		return false // the paused activity remains, and a person may resume it
	}
	return turnsOff(p)
}

// markInactive records that a device is inactive, unless its safe level is on. The caller holds
// Policy.mu.
func (d *device) markInactive() {
	if safeLevel(d.driver) != "on" {
		d.mayBeActive = false
	}
}
