package policy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

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
