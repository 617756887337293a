package sim

import (
	"context"
	"errors"
	"fmt"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Opener        = (*Cover)(nil)
	_ drivers.OpeningReader = (*Cover)(nil)
	_ drivers.Sensor        = (*Cover)(nil)
	_ drivers.SafeReader    = (*Cover)(nil)
	_ drivers.Locker        = (*Lock)(nil)
	_ drivers.LockReader    = (*Lock)(nil)
	_ drivers.Sensor        = (*Lock)(nil)
	_ drivers.SafeReader    = (*Lock)(nil)
)

// LineConfig is where in the simulated home a thing with two states is kept.
type LineConfig struct {
	Line string `yaml:"line"` // on: open, or unlocked
}

// Validate tells what cannot be.
func (c LineConfig) Validate() error {
	if c.Line == "" {
		return errors.New("line: is missing; write a name, like garage-door")
	}
	return nil
}

// twoStates is what a cover and a lock have in common: a line of the world that stays
// as it is when the program ends, as a real door does.
type twoStates struct {
	drivers.Life
	world *World
	line  string
}

func openLine(env drivers.Env, decode func(any) error) (*twoStates, error) {
	var cfg LineConfig
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return &twoStates{Life: drivers.NewLife(env.Name), world: w, line: cfg.Line}, nil
}

// Connection is the Gobot adaptor below.
func (t *twoStates) Connection() gobot.Connection { return newAdaptor(t.world, t.Name) }

// Start makes it ready; it stays as it is.
func (t *twoStates) Start() error { t.Opened(); return nil }

// Halt ends it; it stays as it is.
func (t *twoStates) Halt() error { t.Closed(); return nil }

// Safe is always so: it moves at once, and then stands.
func (t *twoStates) Safe(context.Context) (bool, error) { return true, nil }

func (t *twoStates) set(ctx context.Context, on bool) error {
	_, done, err := t.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := t.world.set(t.Name(), t.line, on); err != nil {
		return fmt.Errorf("%s: %w", t.Name(), err)
	}
	return nil
}

func (t *twoStates) is(ctx context.Context) (bool, error) {
	_, done, err := t.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	return t.world.level(t.line)
}

// closed measures a truth value: 1 while the line is off.
func (t *twoStates) closed(ctx context.Context, quantity string) ([]drivers.Reading, error) {
	on, err := t.is(ctx)
	if err != nil {
		return nil, err
	}
	value := 1.0
	if on {
		value = 0
	}
	return []drivers.Reading{{Quantity: quantity, Value: value, At: t.world.now()}}, nil
}

// Cover is a garage door or a blind.
type Cover struct{ *twoStates }

func openCover(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	t, err := openLine(env, decode)
	if err != nil {
		return nil, err
	}
	return &Cover{t}, nil
}

// Open opens it.
func (c *Cover) Open(ctx context.Context) error { return c.set(ctx, true) }

// Shut closes it.
func (c *Cover) Shut(ctx context.Context) error { return c.set(ctx, false) }

// Opening is how far open it is.
func (c *Cover) Opening(ctx context.Context) (float64, error) {
	on, err := c.is(ctx)
	if err != nil || !on {
		return 0, err
	}
	return 100, nil
}

// Read tells whether it is closed.
func (c *Cover) Read(ctx context.Context) ([]drivers.Reading, error) { return c.closed(ctx, "contact") }

// Lock is the lock of a door.
type Lock struct{ *twoStates }

func openLock(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	t, err := openLine(env, decode)
	if err != nil {
		return nil, err
	}
	return &Lock{t}, nil
}

// Lock locks it.
func (l *Lock) Lock(ctx context.Context) error { return l.set(ctx, false) }

// Unlock unlocks it.
func (l *Lock) Unlock(ctx context.Context) error { return l.set(ctx, true) }

// Locked tells whether it is locked.
func (l *Lock) Locked(ctx context.Context) (bool, error) {
	on, err := l.is(ctx)
	return err == nil && !on, err
}

// Read tells whether it is locked.
func (l *Lock) Read(ctx context.Context) ([]drivers.Reading, error) { return l.closed(ctx, "lock") }
