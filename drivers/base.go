package drivers

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// named has a name that a caller may change. It is safe for concurrent use.
type named struct {
	mu   sync.Mutex
	name string
}

// Name returns the name.
func (n *named) Name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

// SetName changes the name.
func (n *named) SetName(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.name = name
}

// Base implements the common part of most devices: the name, the started state, and the
// termination of verbs by Halt. Drivers embed it.
type Base struct {
	named   // its mutex guards the other fields too
	started bool
	cancels map[*context.CancelCauseFunc]bool
	running sync.WaitGroup
}

// NewBase returns the Base of a device with this name.
func NewBase(name string) Base { return Base{named: named{name: name}} }

// MarkStarted allows verbs to begin. Call it at the end of Start.
func (l *Base) MarkStarted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
}

// StopVerbs terminates the verbs under way and waits for them. Call it at the beginning of
// Halt.
func (l *Base) StopVerbs() {
	l.mu.Lock()
	l.started = false
	for end := range l.cancels {
		(*end)(fmt.Errorf("%s: %w: %w", l.name, ErrHalted, ErrNotStarted))
	}
	l.mu.Unlock()
	l.running.Wait()
}

// Begin returns the context of one verb, which ends with ctx and with StopVerbs. The caller
// must call done at the end of the verb.
func (l *Base) Begin(ctx context.Context) (_ context.Context, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%s: %w", l.name, ctx.Err())
	case !l.started:
		return nil, nil, fmt.Errorf("%s: %w; start it first", l.name, ErrNotStarted)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if l.cancels == nil {
		l.cancels = map[*context.CancelCauseFunc]bool{}
	}
	l.cancels[&cancel] = true
	l.running.Add(1)
	return ctx, func() { l.end(&cancel) }, nil
}

func (l *Base) end(cancel *context.CancelCauseFunc) {
	(*cancel)(nil)
	l.mu.Lock()
	if delete(l.cancels, cancel); len(l.cancels) == 0 {
		l.cancels = nil // most devices are idle most of the time
	}
	l.mu.Unlock()
	l.running.Done()
}

// EndReason returns an error that says why the context of a verb ended early.
func (l *Base) EndReason(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return cause
	}
	return fmt.Errorf("%s: %w", l.Name(), ctx.Err())
}

// WithName adds the name of the device to err. It returns nil for nil.
func (l *Base) WithName(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.Name(), err)
}

// VerbError returns the error of a verb that ran with this context. If the context ended early,
// the reason for that replaces err, but ErrNothingDone and ErrMayAct remain.
func (l *Base) VerbError(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return l.WithName(err)
	case errors.Is(err, ErrMayAct) && err.Error() == context.Cause(ctx).Error():
		return MarkMayAct(l.EndReason(ctx))
	case errors.Is(err, ErrMayAct):
		return fmt.Errorf("%w; %w", l.EndReason(ctx), err)
	case IsStopped(ctx):
		return l.WithName(ErrStopped)
	case errors.Is(err, ErrNothingDone):
		return MarkNothingDone(l.EndReason(ctx))
	}
	return l.EndReason(ctx)
}

// Do runs f as a verb of a started device, between Begin and done.
func (l *Base) Do(ctx context.Context, f func(context.Context) error) error {
	_, err := DoValue(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// DoValue runs f as a verb of a started device, between Begin and done.
func DoValue[T any](ctx context.Context, l *Base, f func(context.Context) (T, error)) (T, error) {
	var none T
	ctx, done, err := l.Begin(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	v, err := f(ctx)
	if err != nil {
		return none, l.VerbError(ctx, err)
	}
	return v, nil
}
