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
// termination of verbs by Halt. Drivers embed it. It is safe for concurrent use.
type Base struct {
	named   // its mutex guards the other fields too
	started bool
	cancels map[*context.CancelCauseFunc]bool
	running sync.WaitGroup
}

// NewBase returns the Base of a device with this name.
func NewBase(name string) Base { return Base{named: named{name: name}} }

// MarkStarted allows verbs to begin. Call it at the end of Start.
func (b *Base) MarkStarted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = true
}

// StopVerbs terminates the verbs under way and waits for them. Call it at the beginning of
// Halt.
func (b *Base) StopVerbs() {
	b.mu.Lock()
	b.started = false
	for end := range b.cancels {
		(*end)(fmt.Errorf("%s: %w: %w", b.name, ErrHalted, ErrNotStarted))
	}
	b.mu.Unlock()
	b.running.Wait()
}

// Begin returns the context of one verb, which ends with ctx and with StopVerbs. The caller
// must call done at the end of the verb.
func (b *Base) Begin(ctx context.Context) (_ context.Context, done func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%s: %w", b.name, ctx.Err())
	case !b.started:
		return nil, nil, fmt.Errorf("%s: %w; start it first", b.name, ErrNotStarted)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if b.cancels == nil {
		b.cancels = map[*context.CancelCauseFunc]bool{}
	}
	b.cancels[&cancel] = true
	b.running.Add(1)
	return ctx, func() { b.end(&cancel) }, nil
}

func (b *Base) end(cancel *context.CancelCauseFunc) {
	(*cancel)(nil)
	b.mu.Lock()
	if delete(b.cancels, cancel); len(b.cancels) == 0 {
		b.cancels = nil // most devices are idle most of the time
	}
	b.mu.Unlock()
	b.running.Done()
}

// EndReason returns an error that says why the context of a verb ended early.
func (b *Base) EndReason(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
		return cause
	}
	return fmt.Errorf("%s: %w", b.Name(), ctx.Err())
}

// WithName adds the name of the device to err. It returns nil for nil.
func (b *Base) WithName(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", b.Name(), err)
}

// VerbError returns the error of a verb that ran with this context. If the context ended early,
// the reason for that replaces err, but ErrNothingDone and ErrMayAct remain.
func (b *Base) VerbError(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return b.WithName(err)
	case errors.Is(err, ErrMayAct) && err.Error() == context.Cause(ctx).Error():
		return MarkMayAct(b.EndReason(ctx))
	case errors.Is(err, ErrMayAct):
		return fmt.Errorf("%w; %w", b.EndReason(ctx), err)
	case IsStopped(ctx):
		return b.WithName(ErrStopped)
	case errors.Is(err, ErrNothingDone):
		return MarkNothingDone(b.EndReason(ctx))
	}
	return b.EndReason(ctx)
}

// Do runs f as a verb of a started device, between Begin and done.
func (b *Base) Do(ctx context.Context, f func(context.Context) error) error {
	_, err := DoValue(ctx, b, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// DoValue runs f as a verb of a started device, between Begin and done.
func DoValue[T any](ctx context.Context, b *Base, f func(context.Context) (T, error)) (T, error) {
	var none T
	ctx, done, err := b.Begin(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	v, err := f(ctx)
	if err != nil {
		return none, b.VerbError(ctx, err)
	}
	return v, nil
}

// Passive is the Base of a device that has nothing to open, and nothing to bring to a safe
// state. Drivers embed it.
type Passive struct{ Base }

// NewPassive returns the Passive of a device with this name.
func NewPassive(name string) Passive { return Passive{NewBase(name)} }

// Start allows verbs.
func (p *Passive) Start() error { p.MarkStarted(); return nil }

// Halt terminates the verbs under way and waits for them.
func (p *Passive) Halt() error { p.StopVerbs(); return nil }
