package gate

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
)

// TimeoutError is a driver that did not answer in time.
type TimeoutError struct {
	Device string
	Call   string
	Limit  time.Duration
	Hung   bool // it did not obey the cancel either, and is quarantined
}

func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("%s: no answer to %q within %v", e.Device, e.Call, e.Limit)
	if e.Hung {
		s += ", and it does not stop; it is left alone until it comes back"
	}
	return s
}

// call describes one call of a driver.
type call struct {
	dev   *device
	name  string // "switch on"
	limit time.Duration
	line  chan struct{} // held during the call: one at a time
	acts  bool          // it may change the world
	back  bool          // it has come back; guarded by Gate.mu
}

type answer[T any] struct {
	value T
	err   error
}

// run calls a driver and waits for its answer, at most so long as it is allowed
// and then as long as it may take to stop. A driver that does not even stop is
// left behind: whoever asked goes on, and the device is quarantined until the
// call comes back.
func run[T any](ctx context.Context, g *Gate, c *call, f func(context.Context) (T, error)) (T, error) {
	var none T
	select {
	case c.line <- struct{}{}:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	g.begins(c)
	late := &TimeoutError{Device: c.dev.name, Call: c.name, Limit: c.limit}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, late)
	answers := make(chan answer[T], 1)
	var group errgroup.Group // a group of one that may have to be left behind
	group.Go(func() error {
		v, err := guarded(ctx, c, f)
		g.cameBack(c)
		<-c.line
		answers <- answer[T]{v, blame(ctx, err, late)}
		cancel()
		return nil
	})
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
		if !g.hangs(c) {
			a := <-answers // it came back in the last moment
			return a.value, a.err
		}
		return none, &TimeoutError{Device: c.dev.name, Call: c.name, Limit: c.limit, Hung: true}
	}
}

// guarded turns a driver's panic into an error: the other devices go on.
func guarded[T any](ctx context.Context, c *call, f func(context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the driver failed in %q: %v\n%s", c.dev.name, c.name, p, debug.Stack())
		}
	}()
	return f(ctx)
}

// blame says that it was the time limit, where a driver says only that its ctx
// has ended.
func blame(ctx context.Context, err error, late *TimeoutError) error {
	if err != nil && context.Cause(ctx) == error(late) && errors.Is(err, context.DeadlineExceeded) {
		if errors.Is(err, drivers.ErrNothingDone) {
			return drivers.NotDone(late)
		}
		return late
	}
	return err
}

// hangs quarantines the device of a call, unless the call has come back.
func (g *Gate) hangs(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.back {
		return false
	}
	if c.dev.hung == nil {
		c.dev.hung = map[*call]bool{}
	}
	c.dev.hung[c] = true
	g.log.Error("driver hangs", "device", c.dev.name, "call", c.name)
	return true
}

func (g *Gate) cameBack(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.back = true
	g.acted(c)
	if c.dev.hung[c] {
		g.log.Warn("driver is back", "device", c.dev.name, "call", c.name)
	}
	delete(c.dev.hung, c)
	g.cameBackLate(c)
}

// stoppable makes ctx end with a Stop as well, until end is called.
func (g *Gate) stoppable(ctx context.Context, c *call) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running[c] = cancel
	if g.stopped != "" {
		cancel(g.stop())
	}
	return ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.running, c)
		cancel(nil)
	}
}
