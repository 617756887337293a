package drivers

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Life is what most devices have in common: a name, whether they are started,
// and verbs that end with Halt. A driver embeds it.
type Life struct {
	mu      sync.Mutex
	name    string
	started bool
	ends    map[*context.CancelCauseFunc]bool
	under   sync.WaitGroup
}

// NewLife is the life of a device called name.
func NewLife(name string) Life { return Life{name: name} }

// Name is the device's name.
func (l *Life) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// SetName changes it.
func (l *Life) SetName(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

// Opened is what Start ends with: from now on verbs may begin.
func (l *Life) Opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
}

// Closed is what Halt begins with: it ends the verbs that are under way, and
// waits for them.
func (l *Life) Closed() {
	l.mu.Lock()
	l.started = false
	for end := range l.ends {
		(*end)(fmt.Errorf("%s: %w: %w", l.name, ErrHalted, ErrNotStarted))
	}
	l.mu.Unlock()
	l.under.Wait()
}

// Begin makes the context of one verb, which ends with ctx and with Closed. done
// has to be called at its end.
func (l *Life) Begin(ctx context.Context) (_ context.Context, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%s: %w", l.name, ctx.Err())
	case !l.started:
		return nil, nil, fmt.Errorf("%s: %w; start it first", l.name, ErrNotStarted)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if l.ends == nil {
		l.ends = map[*context.CancelCauseFunc]bool{}
	}
	l.ends[&cancel] = true
	l.under.Add(1)
	return ctx, func() { l.end(&cancel) }, nil
}

func (l *Life) end(cancel *context.CancelCauseFunc) {
	(*cancel)(nil)
	l.mu.Lock()
	if delete(l.ends, cancel); len(l.ends) == 0 {
		l.ends = nil // most devices rest most of the time
	}
	l.mu.Unlock()
	l.under.Done()
}

// Ended words why a verb ended before its end.
func (l *Life) Ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return cause
	}
	return fmt.Errorf("%s: %w", l.Name(), ctx.Err())
}

// Named says whose error it is; nil stays nil.
func (l *Life) Named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.Name(), err)
}

// Told words an error of a verb with this context: why it was ended early counts
// more than what came of that, but for that nothing was done, or may be done yet.
func (l *Life) Told(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return l.Named(err)
	case errors.Is(err, ErrMayAct) && err.Error() == context.Cause(ctx).Error():
		return Unanswered(l.Ended(ctx))
	case errors.Is(err, ErrMayAct):
		return fmt.Errorf("%w; %w", l.Ended(ctx), err)
	case Stopped(ctx):
		return l.Named(ErrStopped)
	case errors.Is(err, ErrNothingDone):
		return NotDone(l.Ended(ctx))
	}
	return l.Ended(ctx)
}

// During runs a verb of a started device from Begin to its end.
func During[T any](ctx context.Context, l *Life, f func(context.Context) (T, error)) (T, error) {
	var none T
	ctx, done, err := l.Begin(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	v, err := f(ctx)
	if err != nil {
		return none, l.Told(ctx, err)
	}
	return v, nil
}
