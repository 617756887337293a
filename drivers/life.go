package drivers

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Life implements the common part of most devices: the name, the started state, and the
// termination of verbs by Halt. Drivers embed it.
type Life struct {
	mu      sync.Mutex
	name    string
	started bool
	ends    map[*context.CancelCauseFunc]bool
	under   sync.WaitGroup
}

// NewLife returns the Life of a device with this name.
func NewLife(name string) Life { return Life{name: name} }

// Name returns the name of the device.
func (l *Life) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// SetName changes the name of the device.
func (l *Life) SetName(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

// Opened allows verbs to begin. Call it at the end of Start.
func (l *Life) Opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
}

// Closed terminates the verbs under way and waits for them. Call it at the beginning of
// Halt.
func (l *Life) Closed() {
	l.mu.Lock()
	l.started = false
	for end := range l.ends {
		(*end)(fmt.Errorf("%s: %w: %w", l.name, ErrHalted, ErrNotStarted))
	}
	l.mu.Unlock()
	l.under.Wait()
}

// Begin returns the context of one verb, which ends with ctx and with Closed. The caller
// must call done at the end of the verb.
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
		l.ends = nil // most devices are idle most of the time
	}
	l.mu.Unlock()
	l.under.Done()
}

// Ended returns an error that says why the context of a verb ended early.
func (l *Life) Ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return cause
	}
	return fmt.Errorf("%s: %w", l.Name(), ctx.Err())
}

// Named adds the name of the device to err. It returns nil for nil.
func (l *Life) Named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.Name(), err)
}

// Told returns the error of a verb that ran with this context. If the context ended early,
// the reason for that replaces err, but ErrNothingDone and ErrMayAct remain.
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

// Do runs f as a verb of a started device, between Begin and done.
func (l *Life) Do(ctx context.Context, f func(context.Context) error) error {
	_, err := During(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// During runs f as a verb of a started device, between Begin and done.
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
