package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// A motion is a lease: the device stops if the program does not renew it in time, for any reason.
// The motion survives three missed renewals. The lease and the reaction time of the watchdog
// together stay within drivers.MaxLease.
const (
	lease = 400 * time.Millisecond
	renew = 100 * time.Millisecond
)

// moves reports whether a plan keeps something moving only while the program renews the motion.
func moves(p capabilities.Plan) bool { return p.Command == capabilities.Move }

// energises reports whether a plan leaves a device on or moving, so that something must end it.
func energises(p capabilities.Plan) bool { return TurnsOn(p) || moves(p) }

// leased rejects a motion without an end.
func (g *Policy) leased(d *device, p capabilities.Plan) error {
	if !moves(p) || p.For > 0 {
		return nil
	}
	return &Rejection{Device: d.name, Rule: "lease", Text: "it moves for a time only, and none was said; say for how long"}
}

// MotionOf returns the motion of a plan.
func MotionOf(p capabilities.Plan) drivers.Motion {
	value := func(name string) float64 {
		v, _ := p.Args.Get(name)
		f, _ := amount(v)
		return f
	}
	return drivers.Motion{Forward: value("forward"), Turn: value("turn")}
}

// ErrStopUnacknowledged reports that the device has not acknowledged the end of a motion. The gate and the
// watchdog repeat the stop.
var ErrStopUnacknowledged = errors.New("it was told to stop, and has not said that it has")

// Move moves the device as planned until its time is over. Before each renewal of the lease it
// checks all rules and sensors, and asks the exchange again when the permission is old. At the
// end of any motion it stops the device until the device acknowledges. moved is an upper bound
// of the time in motion.
func (p *Pass) Move(ctx context.Context, m drivers.Mover, motion drivers.Motion) (moved time.Duration, err error) {
	if err := p.planned("move", capabilities.Move, motion == MotionOf(p.order.Plan)); err != nil {
		return 0, err
	}
	return act(ctx, p, "move", p.order.For+p.dev.limits.Timeout, func(ctx context.Context) (time.Duration, error) {
		return p.drive(ctx, m, motion)
	})
}

// drive performs the motion, one lease after the other.
func (p *Pass) drive(ctx context.Context, m drivers.Mover, motion drivers.Motion) (moved time.Duration, err error) {
	began, last := p.g.now(), p.g.moment()
	until := began.Add(p.order.For)
	o := p.g.armMotion(p.dev, still{m}, until.Add(lease))
	defer func() { err = errors.Join(err, p.standStill(ctx, m, o)) }()
	t := time.NewTicker(renew)
	defer t.Stop()
	for {
		now := p.g.now()
		left := until.Sub(now)
		if left <= 0 {
			return now.Sub(began), nil
		}
		if late := p.g.since(last); moved > 0 && late > lease {
			return moved, p.silent(late)
		}
		last = p.g.moment()
		this := min(lease, left)
		if err := noGuard(p.dev, p.g.guard.WillBeOn(p.dev.name, this)); err != nil {
			return moved, err
		}
		err := m.Move(ctx, motion, this)
		if moved = max(1, p.g.now().Sub(began)); err != nil {
			return moved, err
		}
		select {
		case <-ctx.Done():
			return moved, context.Cause(ctx)
		case <-t.C:
		}
		if err := p.mayGoOn(ctx); err != nil {
			return moved, err
		}
	}
}

// silent returns the error for a late renewal: the device has stopped and does not continue.
func (p *Pass) silent(d time.Duration) error {
	return &Rejection{Device: p.dev.name, Rule: "lease", Text: fmt.Sprintf("its lease of %v was not renewed for %v, so it has stopped; ask again", lease, d.Round(time.Millisecond))}
}

// mayGoOn repeats before a renewal the checks that precede an act.
func (p *Pass) mayGoOn(ctx context.Context) error {
	if p.again != nil && p.g.since(p.asked) > FreshFor/2 {
		soon, cancel := context.WithTimeout(ctx, renew) // the lease continues during the request
		err := p.askAgain(soon)
		said := soon.Err() == nil
		cancel()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case said || p.g.since(p.asked) > FreshFor:
			return &Rejection{Device: p.dev.name, Rule: "permission", Text: fmt.Sprintf("the exchange does not say any more that it may: %v", err)}
		}
	}
	looked := p.g.moment()
	if err := p.g.look(ctx, p.dev, p.order.Plan); err != nil {
		return err
	}
	p.g.ask()
	if err := p.mayAct(ctx, looked); err != nil && !errors.Is(err, errOld) {
		return err
	}
	return nil
}

// standStill ends a motion. If the device does not acknowledge it, Run and the watchdog repeat
// the stop.
func (p *Pass) standStill(ctx context.Context, m drivers.Mover, o *off) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
	defer cancel()
	err := m.Still(ctx)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if err == nil || errors.Is(err, drivers.ErrNotStarted) { // a stop has halted it
		p.g.wentOff(p.dev, o)
		p.dev.left = p.dev.left || err != nil
		return nil
	}
	o.at = p.g.now()
	p.g.ring()
	return fmt.Errorf("%w: %w", ErrStopUnacknowledged, err)
}

// armMotion records that a device is about to move, and by when it must stand still.
func (g *Policy) armMotion(d *device, s drivers.Switch, at time.Time) *off {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.off, d.level = &off{at: at, on: g.now(), sw: s}, isOn
	g.ring()
	return d.off
}

// still adapts a Mover to a Switch: switching it off stops the motion.
type still struct{ drivers.Mover }

func (s still) Switch(ctx context.Context, _ bool) error { return s.Still(ctx) }
