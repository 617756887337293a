package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// A motion is a lease: the device stops if the program does not renew it in time, for any
// reason. The motion survives three missed renewals. The lease and the reaction time of the
// watchdog together stay within drivers.MaxLease.
const (
	leaseTime     = 400 * time.Millisecond
	renewInterval = 100 * time.Millisecond
)

// isMotion reports whether a plan keeps something moving only while the program renews the
// motion.
func isMotion(p capabilities.Plan) bool { return p.Command == capabilities.Move }

// isEnergizing reports whether a plan leaves a device on or moving, so that something must
// end it.
func isEnergizing(p capabilities.Plan) bool { return TurnsOn(p) || isMotion(p) }

// motionHasEnd rejects a motion without an end.
func (g *Policy) motionHasEnd(d *device, p capabilities.Plan) error {
	if !isMotion(p) || p.For > 0 {
		return nil
	}
	return &Rejection{Device: d.name, Rule: "lease", Text: "a motion needs a duration; say for how long"}
}

// MotionOf returns the motion of a plan.
func MotionOf(p capabilities.Plan) drivers.Motion {
	value := func(name string) float64 {
		v, _ := p.Args.Get(name)
		f, _ := settings.Number(v)
		return f
	}
	return drivers.Motion{Forward: value("forward"), Turn: value("turn")}
}

// ErrStopUnacknowledged reports that the device has not acknowledged the end of a motion.
// The policy and the watchdog repeat the stop.
var ErrStopUnacknowledged = errors.New("the device has not acknowledged the stop")

// Move moves the device as planned until its time is over. Before each renewal of the lease it
// checks all rules and sensors, and asks the exchange again when the permission is old. At the
// end of any motion it stops the device until the device acknowledges. moved is an upper bound
// of the time in motion.
func (p *Pass) Move(ctx context.Context, m drivers.Mover, motion drivers.Motion) (moved time.Duration, err error) {
	if err := p.matchesPlan("move", capabilities.Move, motion == MotionOf(p.order.Plan)); err != nil {
		return 0, err
	}
	return act(ctx, p, "move", p.order.For+p.dev.limits.Timeout, func(ctx context.Context) (time.Duration, error) {
		return p.runMotion(ctx, m, motion)
	})
}

// runMotion performs the motion, one lease after the other.
func (p *Pass) runMotion(ctx context.Context, m drivers.Mover, motion drivers.Motion) (moved time.Duration, err error) {
	began, last := p.g.now(), p.g.moment()
	until := began.Add(p.order.For)
	o := p.g.scheduleStandStill(p.dev, motionOutput{m}, until.Add(leaseTime))
	defer func() { err = errors.Join(err, p.standStill(ctx, m, o)) }()
	t := time.NewTicker(renewInterval)
	defer t.Stop()
	for {
		now := p.g.now()
		left := until.Sub(now)
		if left <= 0 {
			return now.Sub(began), nil
		}
		if late := p.g.since(last); moved > 0 && late > leaseTime {
			return moved, p.leaseExpired(late)
		}
		last = p.g.moment()
		this := min(leaseTime, left)
		if err := watchdogRejection(p.dev, p.g.watchdog.WillBeOn(p.dev.name, this)); err != nil {
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
		if err := p.checkContinuation(ctx); err != nil {
			return moved, err
		}
	}
}

// leaseExpired returns the error for a late renewal: the device has stopped and does not
// continue.
func (p *Pass) leaseExpired(d time.Duration) error {
	return &Rejection{Device: p.dev.name, Rule: "lease", Text: fmt.Sprintf("the agent did not renew its lease of %v for %v, so it has stopped; ask again", leaseTime, d.Round(time.Millisecond))}
}

// checkContinuation repeats before a renewal the checks that precede an act.
func (p *Pass) checkContinuation(ctx context.Context) error {
	if p.renew != nil && p.g.since(p.permissionAsked) > FreshFor/2 {
		soon, cancel := context.WithTimeout(ctx, renewInterval) // the lease continues during the request
		err := p.renewPermission(soon)
		answered := soon.Err() == nil
		cancel()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case answered || p.g.since(p.permissionAsked) > FreshFor:
			return &Rejection{Device: p.dev.name, Rule: "permission", Text: fmt.Sprintf("the exchange no longer permits the motion: %v", err)}
		}
	}
	looked := p.g.moment()
	if err := p.g.checkConditions(ctx, p.dev, p.order.Plan); err != nil {
		return err
	}
	p.g.updateDecisions()
	if err := p.finalCheck(ctx, looked); err != nil && !errors.Is(err, errOutdated) {
		return err
	}
	return nil
}

// standStill ends a motion. If the device does not acknowledge it, Run and the watchdog repeat
// the stop.
func (p *Pass) standStill(ctx context.Context, m drivers.Mover, o *pendingOff) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer cancel()
	err := m.StopMoving(ctx)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if err == nil || errors.Is(err, drivers.ErrNotStarted) { // a stop has halted it
		p.g.confirmOff(p.dev, o)
		p.dev.mayBeActive = p.dev.mayBeActive || err != nil
		return nil
	}
	o.at = p.g.now()
	p.g.notifyTimers()
	return fmt.Errorf("%w: %w", ErrStopUnacknowledged, err)
}

// scheduleStandStill records that a device is about to move, and by when it must stand still.
func (g *Policy) scheduleStandStill(d *device, s drivers.Switch, at time.Time) *pendingOff {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.pending, d.level = &pendingOff{at: at, onSince: g.now(), output: s}, levelOn
	g.notifyTimers()
	return d.pending
}

// motionOutput adapts a Mover to a Switch: switching it off stops the motion.
type motionOutput struct{ drivers.Mover }

func (s motionOutput) Switch(ctx context.Context, _ bool) error { return s.StopMoving(ctx) }
