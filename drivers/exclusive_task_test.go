package drivers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// A task continues if its device cannot receive the stop command, and ends if the device
// received it. While the result is unknown, the task must not take a stop of the device for
// its normal end.
func TestInterruptNeedsReceivedStop(t *testing.T) {
	deaf := errors.New("no answer")
	for name, c := range map[string]struct {
		err         error
		ended       bool
		interrupted bool
	}{
		"received":        {nil, true, true},
		"may be received": {deaf, false, true},
		"out of reach":    {fmt.Errorf("%w: %w", drivers.ErrNothingDone, deaf), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var e drivers.ExclusiveTask
			ctx, release, err := e.Begin(t.Context(), "cleaning")
			if err != nil {
				t.Fatal(err)
			}
			begun, let := make(chan bool), make(chan bool)
			stopped := make(chan error, 1)
			go func() {
				stopped <- e.Interrupt(t.Context(), func(context.Context) error { close(begun); <-let; return c.err })
			}()
			<-begun
			seen := make(chan bool, 1)
			go func() { seen <- e.Interrupted(t.Context()) }() // waits for the result
			close(let)
			if interrupted := <-seen; interrupted != c.interrupted {
				t.Errorf("interrupted: %t, want %t", interrupted, c.interrupted)
			}
			if c.ended {
				<-ctx.Done()
			}
			if drivers.IsStopped(ctx) != c.ended {
				t.Errorf("ended: %v", context.Cause(ctx))
			}
			e.ConfirmWorking(e.LastStop())
			if !c.ended && e.Interrupted(t.Context()) {
				t.Error("the task is interrupted after the device works again, want not")
			}
			release()
			if err := <-stopped; !errors.Is(err, c.err) {
				t.Error(err)
			}
		})
	}
	var e drivers.ExclusiveTask
	if err := e.Interrupt(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

// A verb that Halt cuts short does not look like a verb that never began.
func TestHaltDuringVerb(t *testing.T) {
	l := drivers.NewBase("lamp")
	_, _, err := l.Begin(t.Context())
	if !errors.Is(err, drivers.ErrNotStarted) || errors.Is(err, drivers.ErrHalted) {
		t.Error(err)
	}
	l.MarkStarted()
	ctx, done, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	halted := make(chan bool)
	go func() { l.StopVerbs(); close(halted) }()
	<-ctx.Done()
	if err := l.VerbError(ctx, ctx.Err()); !errors.Is(err, drivers.ErrHalted) || err.Error() != "lamp: halted during the call: not started" {
		t.Error(err)
	}
	done()
	<-halted
}
