package sim

import (
	"context"
	"fmt"
	"sync"

	"github.com/messkit/messkit/drivers"
)

// life is a device's name, and which of its verbs are under way. Verbs end with
// Halt.
type life struct {
	mu      sync.Mutex
	name    string
	started bool
	ends    map[*context.CancelCauseFunc]bool
	under   sync.WaitGroup
}

// Name is the device's name.
func (l *life) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// SetName changes it.
func (l *life) SetName(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

func (l *life) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
}

// halt ends the verbs that are under way and waits for them.
func (l *life) halt() {
	l.mu.Lock()
	l.started = false
	for end := range l.ends {
		(*end)(fmt.Errorf("%s: halted: %w", l.name, drivers.ErrNotStarted))
	}
	l.mu.Unlock()
	l.under.Wait()
}

// begin makes the context of one verb, which ends with ctx and with Halt. done
// has to be called at its end.
func (l *life) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%s: %w", l.name, ctx.Err())
	case !l.started:
		return nil, nil, fmt.Errorf("%s: %w; start it first", l.name, drivers.ErrNotStarted)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if l.ends == nil {
		l.ends = map[*context.CancelCauseFunc]bool{}
	}
	l.ends[&cancel] = true
	l.under.Add(1)
	return ctx, func() {
		cancel(nil)
		l.mu.Lock()
		delete(l.ends, &cancel)
		l.mu.Unlock()
		l.under.Done()
	}, nil
}

// ended words why a verb ended before its end.
func (l *life) ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return cause
	}
	return fmt.Errorf("%s: %w", l.Name(), ctx.Err())
}
