package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Opener        = (*Cover)(nil)
	_ drivers.Positioner    = (*Cover)(nil)
	_ drivers.Stopper       = (*Cover)(nil)
	_ drivers.OpeningReader = (*Cover)(nil)
	_ drivers.RestReader    = (*Cover)(nil)
	_ drivers.Sensor        = (*Cover)(nil)
	_ drivers.SafeReader    = (*Cover)(nil)
	_ drivers.Notifier      = (*Cover)(nil)
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

// Changes is closed with the next change of the home.
func (t *twoStates) Changes() <-chan struct{} { return t.world.bell.Changes() }

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

// CoverConfig is where a cover is kept, and how long it takes.
type CoverConfig struct {
	LineConfig
	Takes time.Duration `yaml:"takes"` // from one end to the other; 0: no time
}

// Validate tells what cannot be.
func (c CoverConfig) Validate() error {
	err := c.LineConfig.Validate()
	if c.Takes < 0 || c.Takes > time.Hour {
		err = errors.Join(err, fmt.Errorf("takes: %v is not between 0 and an hour", c.Takes))
	}
	return err
}

// Cover is a garage door or a blind.
type Cover struct {
	*twoStates
	takes  time.Duration
	errand drivers.Errand

	mu    sync.Mutex
	moves bool
}

func openCover(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	var cfg CoverConfig
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return &Cover{twoStates: &twoStates{Life: drivers.NewLife(env.Name), world: w, line: cfg.Line}, takes: cfg.Takes}, nil
}

// Open opens it.
func (c *Cover) Open(ctx context.Context) error { return c.OpenTo(ctx, 100) }

// Shut closes it.
func (c *Cover) Shut(ctx context.Context) error { return c.OpenTo(ctx, 0) }

// coverStep is how often it is somewhere else while it moves.
const coverStep = 20 * time.Millisecond

// OpenTo takes it so far; it stands where it is when ctx ends.
func (c *Cover) OpenTo(ctx context.Context, percent float64) error {
	ctx, done, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !(percent >= 0 && percent <= 100) {
		return c.Named(drivers.NotDone(fmt.Errorf("%v percent cannot be; use 0 to 100", percent)))
	}
	ctx, release, err := c.errand.Take(ctx, "moving")
	if err != nil {
		return c.Named(err)
	}
	defer release()
	return c.Told(ctx, c.travel(ctx, percent))
}

func (c *Cover) travel(ctx context.Context, to float64) error {
	at, err := c.world.Opening(c.line)
	if err != nil || c.takes == 0 || at == to {
		if err == nil {
			err = c.world.opens(c.Name(), c.line, to)
		}
		return err
	}
	c.moving(true)
	defer c.moving(false)
	step := math.Copysign(100*float64(coverStep)/float64(c.takes), to-at)
	tick := time.NewTicker(coverStep)
	defer tick.Stop()
	for at != to {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if at += step; step > 0 && at > to || step < 0 && at < to {
			at = to
		}
		if err := c.world.opens(c.Name(), c.line, at); err != nil {
			return err
		}
	}
	return nil
}

// moving notes whether it is on its way; where it has come to stand is a change, too.
func (c *Cover) moving(is bool) {
	c.mu.Lock()
	c.moves = is
	c.mu.Unlock()
	c.world.bell.Ring()
}

// Stop has it stand where it is.
func (c *Cover) Stop(ctx context.Context) (left string, err error) {
	ctx, done, err := c.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return "", c.Told(ctx, c.errand.End(ctx))
}

// AtRest reports whether it stands.
func (c *Cover) AtRest(context.Context) (bool, error) { return !c.onItsWay(), nil }

func (c *Cover) onItsWay() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moves
}

// Opening is how far open it is.
func (c *Cover) Opening(ctx context.Context) (float64, error) {
	_, done, err := c.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if c.onItsWay() {
		return 0, fmt.Errorf("%s: it moves", c.Name())
	}
	is, err := c.world.Opening(c.line)
	return math.Round(is), c.Named(err)
}

// Read tells whether it is closed, and how far it is open.
func (c *Cover) Read(ctx context.Context) ([]drivers.Reading, error) {
	list, err := c.closed(ctx, "contact")
	if err != nil {
		return nil, err
	}
	is, err := c.Opening(ctx)
	if err != nil {
		return nil, err
	}
	return append(list, drivers.Reading{Quantity: "opening", Value: is, Unit: "%", At: c.world.now()}), nil
}

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
