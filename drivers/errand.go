package drivers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Errand is the one task that a device is at, which another request may end. The
// zero value is none.
type Errand struct {
	mu   sync.Mutex
	what string
	end  context.CancelCauseFunc
	over chan struct{} // closed when it is over
}

// Take begins a task, and is ErrBusy while there is one. release ends it; its
// context ends with End too.
func (e *Errand) Take(ctx context.Context, what string) (_ context.Context, release func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		return nil, nil, fmt.Errorf("%w: it is %s; wait for that, or stop it", ErrBusy, e.what)
	}
	ctx, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	e.what, e.end, e.over = what, end, over
	return ctx, func() {
		end(nil)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.what, e.end, e.over = "", nil, nil
		close(over)
	}, nil
}

// End ends the task with ErrStopped, if there is one, and waits until it is over.
func (e *Errand) End(ctx context.Context) error {
	e.mu.Lock()
	end, over := e.end, e.over
	e.mu.Unlock()
	if over == nil {
		return nil
	}
	end(ErrStopped)
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stopped reports whether a task's context was ended by End.
func Stopped(ctx context.Context) bool { return context.Cause(ctx) == ErrStopped }

// StopTime is how long a robot may take to stand still when it is told to.
const StopTime = 8 * time.Second

// Brake stops a robot though ctx has ended, by end. That it could not is in the log,
// and in what is read back afterwards.
func Brake(ctx context.Context, log *slog.Logger, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTime)
	defer cancel()
	err := end(ctx)
	if err != nil {
		log.Error("the robot could not be stopped", "err", err)
	}
	return err
}
