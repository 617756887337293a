package drivers

import (
	"context"
	"errors"
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

	telling chan struct{} // closed when the device has been told to stop, or cannot be; nil while nobody does
	told    uint64        // the last telling that it may have heard; 0 for none
	tells   uint64        // how often it was told
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
	e.what, e.end, e.over, e.told = what, end, over, 0
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

// Interrupt ends the task when tell has told the device to stop, and waits until it is
// over. A device that cannot be told is at it still: its task goes on.
func (e *Errand) Interrupt(ctx context.Context, tell func(context.Context) error) error {
	e.mu.Lock()
	if e.over == nil || e.telling != nil {
		e.mu.Unlock()
		if err := tell(ctx); err != nil {
			return err
		}
		return e.End(ctx)
	}
	over, telling := e.over, make(chan struct{})
	e.telling = telling
	e.mu.Unlock()
	err := tell(ctx)
	e.mu.Lock()
	e.telling = nil
	if e.over == over && !errors.Is(err, ErrNothingDone) {
		e.tells++
		e.told = e.tells
	}
	e.mu.Unlock()
	close(telling)
	if err != nil {
		return err
	}
	return e.End(ctx)
}

// Interrupted reports whether the device was told to stop by Interrupt, or may have
// heard that, once this is known. What a task sees of its end is then no end of its own.
func (e *Errand) Interrupted(ctx context.Context) bool {
	e.mu.Lock()
	telling := e.telling
	e.mu.Unlock()
	if telling != nil {
		select {
		case <-telling:
		case <-ctx.Done():
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.told != 0
}

// Doubt is the last telling to stop that the device may have heard, for Moves; 0 for
// none. It has to be asked before the device is looked at.
func (e *Errand) Doubt() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.told
}

// Moves notes that the device was seen at its task: it has not heard of that telling.
func (e *Errand) Moves(doubt uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told == doubt {
		e.told = 0
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

// Braked is err of a robot that was stopped for it by Brake, which has ended with stop:
// where it may set out all the same, with that. One that has stopped has answered all that
// it was told before.
func Braked(err, stop error) error {
	switch {
	case errors.Is(stop, ErrMayAct):
		return fmt.Errorf("%w; %w", err, stop)
	case stop == nil && errors.Is(err, ErrMayAct):
		return errors.New(err.Error())
	}
	return err
}
