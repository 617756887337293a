package drivers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Errand allows a device one task at a time, and lets another request end that task. The
// zero value has no task. Its methods are safe for concurrent use.
type Errand struct {
	mu   sync.Mutex
	what string
	end  context.CancelCauseFunc
	over chan struct{} // closed at the end of the task

	telling chan struct{} // non-nil while a stop command is under way; closed when its result is known
	told    uint64        // number of the last stop command that the device may have received; 0 for none
	tells   uint64        // number of stop commands sent
}

// Take begins a task, or returns ErrBusy while another task runs. what names the task in
// that error. The returned context ends with ctx and with End. The caller must call release
// at the end of the task.
func (e *Errand) Take(ctx context.Context, what string) (_ context.Context, release func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		return nil, nil, fmt.Errorf("%w: it is %s; wait until it has finished, or stop it", ErrBusy, e.what)
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

// End terminates the task with ErrStopped and waits until the task has ended. It returns
// nil if there is no task, and the error of ctx if ctx ends first.
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

// Interrupt calls tell, which sends a stop command to the device. If tell succeeds,
// Interrupt terminates the task and waits until the task has ended. If tell fails, the
// device continues, and so does its task.
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

// Interrupted reports whether the device has received, or may have received, a stop command
// from Interrupt. It waits until the result of a command under way is known. If it returns
// true, the task must not take a stop of the device for its normal end.
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

// Doubt returns the number of the last stop command that the device may have received, for
// Moves; 0 for none. Call it before you read the state of the device.
func (e *Errand) Doubt() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.told
}

// Moves records that the device was seen at its task, so it has not received the stop
// command with the number doubt.
func (e *Errand) Moves(doubt uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told == doubt {
		e.told = 0
	}
}

// Stopped reports whether End terminated the context of a task.
func Stopped(ctx context.Context) bool { return context.Cause(ctx) == ErrStopped }

// StopTime is the longest time that a robot may need to stand still after a stop command.
const StopTime = 8 * time.Second

// Brake calls end to stop a robot, even if ctx has ended. It logs an error of end and
// returns it.
func Brake(ctx context.Context, log *slog.Logger, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTime)
	defer cancel()
	err := end(ctx)
	if err != nil {
		log.Error("the robot did not accept the stop", "err", err)
	}
	return err
}

// Braked combines err, the error of a robot's task, with stop, the result of Brake after
// that error. If the robot may still set out, the result is ErrMayAct. If the robot has
// stopped, the result is no longer ErrMayAct, because the robot has processed all earlier
// commands.
func Braked(err, stop error) error {
	switch {
	case errors.Is(stop, ErrMayAct):
		return fmt.Errorf("%w; %w", err, stop)
	case stop == nil && errors.Is(err, ErrMayAct):
		return errors.New(err.Error())
	}
	return err
}
