package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// A motion is a lease: what moves stops when it is not told again in time,
// whoever has gone silent. Three renewals may be missed, and with what the guard
// takes to stop it all is within drivers.MaxLease.
const (
	lease = 400 * time.Millisecond
	renew = 100 * time.Millisecond
)

// moves reports whether a plan sets something moving for as long as it is told to.
func moves(p capabilities.Plan) bool { return p.Command == capabilities.Move }

// energises reports whether a plan leaves something on or moving that has to be
// ended.
func energises(p capabilities.Plan) bool { return TurnsOn(p) || moves(p) }

// leased refuses a motion without an end.
func (g *Gate) leased(d *device, p capabilities.Plan) error {
	if !moves(p) || p.For > 0 {
		return nil
	}
	return &Refusal{Device: d.name, Rule: "lease", Text: "it moves for a time only, and none was said; say for how long"}
}

// MotionOf is the motion of a plan.
func MotionOf(p capabilities.Plan) drivers.Motion {
	value := func(name string) float64 {
		v, _ := p.Args.Get(name)
		f, _ := amount(v)
		return f
	}
	return drivers.Motion{Forward: value("forward"), Turn: value("turn")}
}

// ErrMoving is a motion whose end the device has not acknowledged: it is stopped
// again and again, by the guard too.
var ErrMoving = errors.New("it was told to stop, and has not said that it has")

// Move has the device move as planned until its time is over. Before every
// renewal of the lease all rules and sensors are asked again, and the exchange
// while its permission grows old. Whatever ends it, the device is told to stop
// until it has; moved is how long it was moving, at most.
func (p *Pass) Move(ctx context.Context, m drivers.Mover, motion drivers.Motion) (moved time.Duration, err error) {
	if err := p.planned("move", capabilities.Move, motion == MotionOf(p.order.Plan)); err != nil {
		return 0, err
	}
	return act(ctx, p, "move", p.order.For+p.dev.limits.Timeout, func(ctx context.Context) (time.Duration, error) {
		return p.drive(ctx, m, motion)
	})
}

// drive is the act: a lease after the other.
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
		if err := noGuard(p.dev, p.g.guard.On(p.dev.name, this)); err != nil {
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

// silent is the end of a motion that was not renewed in time: the device has
// stopped, and does not go on by itself.
func (p *Pass) silent(d time.Duration) error {
	return &Refusal{Device: p.dev.name, Rule: "lease", Text: fmt.Sprintf("its lease of %v was not renewed for %v, so it has stopped; ask again", lease, d.Round(time.Millisecond))}
}

// mayGoOn asks before a renewal what is asked before an act.
func (p *Pass) mayGoOn(ctx context.Context) error {
	if p.again != nil && p.g.since(p.asked) > Fresh/2 {
		soon, cancel := context.WithTimeout(ctx, renew) // the lease goes on meanwhile
		err := p.askAgain(soon)
		said := soon.Err() == nil
		cancel()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case said || p.g.since(p.asked) > Fresh:
			return &Refusal{Device: p.dev.name, Rule: "permission", Text: fmt.Sprintf("the exchange does not say any more that it may: %v", err)}
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

// standStill ends a motion. Where the device does not take that, it is told again
// by whoever switches off what is on for too long, and by the guard.
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
	return fmt.Errorf("%w: %w", ErrMoving, err)
}

// armMotion notes that a device is going to move, and by when it has to stand
// still.
func (g *Gate) armMotion(d *device, s drivers.Switch, at time.Time) *off {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.off, d.level = &off{at: at, on: g.now(), sw: s}, isOn
	g.ring()
	return d.off
}

// still is a mover as what can be switched off.
type still struct{ drivers.Mover }

func (s still) Switch(ctx context.Context, _ bool) error { return s.Still(ctx) }
