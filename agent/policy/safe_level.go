package policy

import (
	"context"
	"errors"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// ReturnToSafeLevel switches the device to its safe level after the plan's own act was cut
// short: the requester cancelled it, or the program ends. It waits until the driver returns
// from that act and needs no permission. During a stop it does nothing, because the stop
// does the same.
func (p *Pass) ReturnToSafeLevel(ctx context.Context, s drivers.Switch, on bool) error {
	name := map[bool]string{true: "switch on", false: "switch off"}[on]
	c := &call{dev: p.dev, name: name, limit: p.dev.limits.Timeout, lock: p.dev.actLock, acts: true}
	_, err := run(ctx, p.g, c, func(ctx context.Context) (struct{}, error) {
		p.g.mu.Lock()
		no := p.g.notStopped(p.dev, p.order.Plan)
		p.g.mu.Unlock()
		if no != nil {
			return struct{}{}, no
		}
		err := s.Switch(ctx, on)
		if err == nil || errors.Is(err, drivers.ErrMayAct) { // it has answered all commands, or reports that it has not
			p.g.mu.Lock()
			p.unanswered = err != nil
			p.g.mu.Unlock()
		}
		return struct{}{}, err
	})
	if err == nil && !on {
		p.g.setOff(p.dev)
	}
	return err
}

// EnforceSafeLevel makes Run repeat the safe level until the device takes it or gets another
// command.
func (p *Pass) EnforceSafeLevel(s drivers.Switch, on bool) {
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.pending != nil && d.pending.retryDelay > 0 {
		return // repeats are already running
	}
	o := &pendingOff{at: g.now().Add(firstRetry), onSince: d.onSince(g.now()), output: s}
	if on {
		o.output, o.isStop = safeOnOutput{s}, true
	}
	d.pending, d.mayBeActive = o, true
	g.notifyTimers()
}

// safeOnOutput adapts a Switch whose safe level is on: switching it off switches it on.
type safeOnOutput struct{ switched }

type switched = drivers.Switch

func (s safeOnOutput) Switch(ctx context.Context, _ bool) error { return s.switched.Switch(ctx, true) }

// SwitchOff describes what switches a device off.
type SwitchOff struct {
	Device        string
	In            time.Duration // until this program does; 0: never
	DeviceTimer   time.Duration // until the device's own timer does, even if this program dies; 0: never
	Watchdog      bool          // the watchdog does if this program cannot
	StaysOnAtExit bool          // it stays on when this program ends
}

// SwitchOff returns what will switch off the device of this pass.
func (p *Pass) SwitchOff() SwitchOff {
	e := SwitchOff{Device: p.dev.name, In: p.OffIn()}
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.In == 0 || d.pending == nil {
		return e
	}
	if !d.pending.deviceTimer.IsZero() {
		e.DeviceTimer = max(time.Second, d.pending.deviceTimer.Sub(g.now()).Round(time.Second))
	}
	w, tells := g.watchdog.(watchdogCoverage)
	e.StaysOnAtExit = safeLevel(d.driver) != "off"
	e.Watchdog = tells && w.Watches(d.name)
	return e
}

// ends returns what will switch off a device that a plan switches on for a time. The caller
// holds Policy.mu.
func (g *Policy) ends(d *device, p capabilities.Plan) []SwitchOff {
	e := SwitchOff{Device: d.name, In: offIn(*d.limits, p)}
	if e.In == 0 {
		return nil
	}
	if a, timed := d.driver.(drivers.AutoOff); timed {
		e.DeviceTimer = timerFor(a, e.In)
	}
	w, tells := g.watchdog.(watchdogCoverage)
	e.StaysOnAtExit, e.Watchdog = safeLevel(d.driver) != "off", tells && w.Watches(d.name)
	return []SwitchOff{e}
}

// timerFor returns how long the device's own timer lets it be on; 0 if the timer cannot do
// that.
func timerFor(a drivers.AutoOff, limit time.Duration) time.Duration {
	if l, ok := a.(drivers.TimerRounder); ok {
		return l.RoundTimer(limit)
	}
	return limit
}

// OffIn returns the time until the device goes off automatically; 0 if it does not.
func (p *Pass) OffIn() time.Duration {
	g, d := p.g, p.dev
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.pending == nil || d.pending.at.IsZero() || d.pending.isStop {
		return 0
	}
	return max(time.Second, d.pending.at.Sub(g.now()).Round(time.Second))
}
