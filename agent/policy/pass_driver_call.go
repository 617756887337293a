package policy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// TimeoutError reports a driver call that did not return within its limit.
type TimeoutError struct {
	Device      string
	Call        string
	Limit       time.Duration
	Quarantined bool // the driver ignored the cancel as well; the device is in quarantine
}

func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("%s: no answer to %q within %v", e.Device, e.Call, e.Limit)
	if e.Quarantined {
		s += "; the driver ignores the cancel too, so the device stays in quarantine until the call returns"
	}
	return s
}

// call describes one call of a driver.
type call struct {
	dev      *device
	name     string // for example "switch on"
	limit    time.Duration
	lock     chan struct{} // held during the call, so that calls run one at a time
	acts     bool          // the call may have a physical effect
	returned bool          // the call has returned; guarded by Policy.mu
}

type answer[T any] struct {
	value T
	err   error
}

// run calls a driver and waits for its answer: up to c.limit, and then up to StopWithin for it
// to stop. If the driver does not stop either, run returns a TimeoutError and leaves the call
// running. The device stays in quarantine until that call returns.
func run[T any](ctx context.Context, g *Policy, c *call, f func(context.Context) (T, error)) (T, error) {
	var none T
	select {
	case c.lock <- struct{}{}:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	g.callBegins(c)
	late := &TimeoutError{Device: c.dev.name, Call: c.name, Limit: c.limit}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, late)
	answers := make(chan answer[T], 1)
	go func() { // it outlives run if the driver hangs
		v, err := recoverPanic(ctx, c, f)
		g.returned(c)
		<-c.lock
		answers <- answer[T]{v, timeoutCause(ctx, err, late)}
		cancel()
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(c.dev.limits.StopWithin)
	defer grace.Stop()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-grace.C:
		if !g.quarantine(c) {
			a := <-answers // it returned at the last moment
			return a.value, a.err
		}
		return none, &TimeoutError{Device: c.dev.name, Call: c.name, Limit: c.limit, Quarantined: true}
	}
}

// recoverPanic turns a driver's panic into an error, so that other devices keep working.
func recoverPanic[T any](ctx context.Context, c *call, f func(context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the driver failed in %q: %v\n%s", c.dev.name, c.name, p, debug.Stack())
		}
	}()
	return f(ctx)
}

// timeoutCause names the time limit as the cause if the driver only reports that its context has
// ended.
func timeoutCause(ctx context.Context, err error, late *TimeoutError) error {
	if err != nil && context.Cause(ctx) == error(late) && errors.Is(err, context.DeadlineExceeded) {
		if errors.Is(err, drivers.ErrNothingDone) {
			return drivers.MarkNothingDone(late)
		}
		return late
	}
	return err
}

// quarantine puts the device of a call in quarantine, unless the call has returned. It reports
// whether it did.
func (g *Policy) quarantine(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.returned {
		return false
	}
	if c.dev.hungCalls == nil {
		c.dev.hungCalls = map[*call]bool{}
	}
	c.dev.hungCalls[c] = true
	g.log.Error("driver hangs", "device", c.dev.name, "call", c.name)
	return true
}

func (g *Policy) returned(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.returned = true
	g.dropLastStates(c)
	if c.dev.hungCalls[c] {
		g.log.Warn("driver call has returned", "device", c.dev.name, "call", c.name)
	}
	delete(c.dev.hungCalls, c)
	g.returnedLate(c)
}

// stoppable returns a context that Stop cancels too, until the caller calls end.
func (g *Policy) stoppable(ctx context.Context, c *call) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runningCalls[c] = cancel
	if g.stopReason != "" {
		cancel(g.stopRejection())
	}
	return ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.runningCalls, c)
		cancel(nil)
	}
}

// RequirePermission makes every act of the pass require a permission no older than FreshFor. asked is the
// time of the request for the current permission; again requests a new one and returns the time
// of that request. The process may stand still for hours between any two acts.
func (p *Pass) RequirePermission(asked time.Time, again func(context.Context) (time.Time, error)) {
	p.permissionAsked.at, p.renew = asked, again // the machine may have slept since the pass began
}

// errOutdated reports a check of other devices, or a permission, that is too old.
var errOutdated = errors.New("it took too long")

// maxRechecks limits the checks of other devices before one act.
const maxRechecks = 3

// act calls a driver method with a physical effect. It checks the conditions first, and acts
// only while the result is fresh.
func act[T any](ctx context.Context, p *Pass, name string, limit time.Duration, f func(context.Context) (T, error)) (v T, err error) {
	if err := p.recordIfNeeded(ctx); err != nil {
		return v, err
	}
	for range maxRechecks {
		if v, err = attempt(ctx, p, name, limit, f); !errors.Is(err, errOutdated) {
			return v, err
		}
	}
	return v, &Rejection{Device: p.dev.name, Rule: "fresh", Text: fmt.Sprintf(
		"checking the conditions and acting took longer than %v, %d times; try again when this machine is less busy", FreshFor, maxRechecks)}
}

// matchesPlan rejects an act other than the plan's, because the rules have checked only the plan.
func (p *Pass) matchesPlan(verb string, c capabilities.Command, args bool) error {
	if p.order.Command == c && args {
		return nil
	}
	return &Rejection{Device: p.dev.name, Rule: "plan", Text: fmt.Sprintf("the plan is to %s (%s %v), not to %s", p.order.Summary, p.order.Command, p.order.Args, verb)}
}

// areasOf returns the areas of a cleaning plan; none means all.
func areasOf(p capabilities.Plan) any {
	areas, ok := p.Args.Get("areas")
	if !ok {
		return []string(nil)
	}
	return areas
}

// attempt makes one attempt.
func attempt[T any](ctx context.Context, p *Pass, name string, limit time.Duration, f func(context.Context) (T, error)) (v T, err error) {
	c := &call{dev: p.dev, name: name, limit: limit, lock: p.lock(), acts: true}
	ctx, end := p.g.stoppable(ctx, c)
	defer end()
	if err := p.ensurePermission(ctx); err != nil {
		return v, err
	}
	looked := p.g.moment()
	if err := p.g.checkConditions(ctx, p.dev, p.order.Plan); err != nil {
		return v, err
	}
	p.g.updateDecisions()
	v, err = run(ctx, p.g, c, func(ctx context.Context) (T, error) {
		if err := p.finalCheck(ctx, looked); err != nil {
			var none T
			return none, err
		}
		v, err := trackEffect(ctx, p, f)
		return v, p.interrupted(ctx, name, err)
	})
	if err == nil {
		p.storeCommanded(name)
	}
	return v, err
}

// lock returns the lock for a call of the pass: one for acts, another for acts that steer a
// running task.
func (p *Pass) lock() chan struct{} {
	if isSteering(p.order.Plan) {
		return p.dev.steerLock
	}
	return p.dev.actLock
}

// interrupted distinguishes an act that a stop has interrupted from a rejected one: the driver had
// the command and may have carried it out.
func (p *Pass) interrupted(ctx context.Context, name string, err error) error {
	stop, ok := errors.AsType[*Rejection](context.Cause(ctx))
	if !ok || !errors.Is(err, stop) {
		return err
	}
	return fmt.Errorf("%s: the driver already had the command to %s", p.dev.name, name)
}

// ensurePermission asks for a new permission if the last one is too old.
func (p *Pass) ensurePermission(ctx context.Context) error {
	if p.renew == nil || p.g.since(p.permissionAsked) <= FreshFor {
		return nil
	}
	err := p.renewPermission(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &Rejection{Device: p.dev.name, Rule: "permission", Text: fmt.Sprintf("the permission of the exchange was older than %v, and the exchange does not renew it: %v", FreshFor, err)}
}

// finalCheck makes the last check before the act. The call already holds the driver's lock, so
// nothing waits between this and the act.
func (p *Pass) finalCheck(ctx context.Context, looked moment) error {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if err := firstRejection(append(p.g.standingRules(), p.g.notDryRun), p.dev, p.order.Plan); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.g.since(looked) > FreshFor || p.renew != nil && p.g.since(p.permissionAsked) > FreshFor {
		return errOutdated
	}
	p.dev.lastAct = p.g.now()
	return nil
}
