package drivers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ExclusiveTask allows a device one task at a time, and lets another request end that task. The
// zero value has no task. Its methods are safe for concurrent use.
type ExclusiveTask struct {
	mu     sync.Mutex
	name   string
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed at the end of the task

	stopPending chan struct{} // non-nil while a stop command is under way; closed when its result is known
	lastStop    uint64        // number of the last stop command that the device may have received; 0 for none
	stopCount   uint64        // number of stop commands sent
}

// Begin begins a task with the name what. While another task runs, it returns ErrBusy with the
// name of that task. The returned context ends with ctx and with End. The caller must call release
// at the end of the task.
func (e *ExclusiveTask) Begin(ctx context.Context, what string) (_ context.Context, release func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended != nil {
		return nil, nil, fmt.Errorf("%w: it is %s; wait until it has finished, or stop it", ErrBusy, e.name)
	}
	ctx, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	e.name, e.cancel, e.ended, e.lastStop = what, end, over, 0
	return ctx, func() {
		end(nil)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.name, e.cancel, e.ended = "", nil, nil
		close(over)
	}, nil
}

// Run runs f as a task and as a verb of a started device. name names the task.
func (e *ExclusiveTask) Run(ctx context.Context, b *Base, name string, f func(context.Context) error) error {
	ctx, done, err := b.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, release, err := e.Begin(ctx, name)
	if err != nil {
		return b.WithName(err)
	}
	defer release()
	return b.VerbError(ctx, f(ctx))
}

// End terminates the task with ErrStopped and waits until the task has ended. It returns
// nil if there is no task, and the error of ctx if ctx ends first.
func (e *ExclusiveTask) End(ctx context.Context) error {
	e.mu.Lock()
	end, over := e.cancel, e.ended
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

// Interrupt calls send, which sends a stop command to the device. If send succeeds,
// Interrupt terminates the task and waits until the task has ended. If send fails, the
// device continues, and so does its task.
func (e *ExclusiveTask) Interrupt(ctx context.Context, send func(context.Context) error) error {
	e.mu.Lock()
	if e.ended == nil || e.stopPending != nil {
		e.mu.Unlock()
		if err := send(ctx); err != nil {
			return err
		}
		return e.End(ctx)
	}
	over, sending := e.ended, make(chan struct{})
	e.stopPending = sending
	e.mu.Unlock()
	err := send(ctx)
	e.mu.Lock()
	e.stopPending = nil
	if e.ended == over && !errors.Is(err, ErrNothingDone) {
		e.stopCount++
		e.lastStop = e.stopCount
	}
	e.mu.Unlock()
	close(sending)
	if err != nil {
		return err
	}
	return e.End(ctx)
}

// Interrupted reports whether the device has received, or may have received, a stop command
// from Interrupt. It waits until the result of a command under way is known. If it returns
// true, the task must not take a stop of the device for its normal end.
func (e *ExclusiveTask) Interrupted(ctx context.Context) bool {
	e.mu.Lock()
	sending := e.stopPending
	e.mu.Unlock()
	if sending != nil {
		select {
		case <-sending:
		case <-ctx.Done():
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastStop != 0
}

// LastStop returns the number of the last stop command that the device may have received, for
// ConfirmWorking; 0 for none. Call it before you read the state of the device.
func (e *ExclusiveTask) LastStop() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastStop
}

// ConfirmWorking records that the device was seen at its task, so it has not received the stop
// command with the number doubt.
func (e *ExclusiveTask) ConfirmWorking(doubt uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lastStop == doubt {
		e.lastStop = 0
	}
}

// IsStopped reports whether End terminated the context of a task.
func IsStopped(ctx context.Context) bool { return context.Cause(ctx) == ErrStopped }

// StopTimeout is the longest time that a robot may need to stand still after a stop command.
const StopTimeout = 8 * time.Second

// StopRobot calls end to stop a robot, even if ctx has ended. It logs an error of end and
// returns it.
func StopRobot(ctx context.Context, log *slog.Logger, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTimeout)
	defer cancel()
	err := end(ctx)
	if err != nil {
		log.Error("the robot did not accept the stop", "err", err)
	}
	return err
}

// JoinStopError combines err, the error of a robot's task, with stop, the result of
// StopRobot after that error. If the robot may still set out, the result is ErrMayAct. If
// the robot has stopped, the result is no longer ErrMayAct, because the robot has processed
// all earlier commands.
func JoinStopError(err, stop error) error {
	switch {
	case errors.Is(stop, ErrMayAct):
		return fmt.Errorf("%w; %w", err, stop)
	case stop == nil && errors.Is(err, ErrMayAct):
		return errors.New(err.Error())
	}
	return err
}
