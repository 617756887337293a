package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

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

// LineConfig is the configuration of a device with two states.
type LineConfig struct {
	Line string `yaml:"line"` // line of the world; on means open or unlocked
}

// Validate returns the first error in the configuration.
func (c LineConfig) Validate() error {
	if c.Line == "" {
		return errors.New("line: is missing; write a name, like garage-door")
	}
	return nil
}

// twoStates implements the common part of a cover and a lock: a line of the world that
// keeps its state when the program ends, like a real door.
type twoStates struct {
	drivers.Passive
	world *World
	line  string
}

func newTwoStates(name string, cfg LineConfig, w *World) *twoStates {
	return &twoStates{Passive: drivers.NewPassive(name), world: w, line: cfg.Line}
}

// Safe returns true, because the device moves at once and then stands still.
func (t *twoStates) Safe(context.Context) (bool, error) { return true, nil }

// Changes returns a channel that closes at the next change of the home.
func (t *twoStates) Changes() <-chan struct{} { return t.world.signal.Changes() }

func (t *twoStates) set(ctx context.Context, on bool) error {
	return t.Do(ctx, func(context.Context) error { return t.world.set(t.Name(), t.line, on) })
}

func (t *twoStates) is(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &t.Base, func(context.Context) (bool, error) { return t.world.level(t.line) })
}

// closed returns a reading that is 1 while the line is off.
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

// CoverConfig is the configuration of a cover.
type CoverConfig struct {
	LineConfig
	Takes time.Duration `yaml:"takes"` // time from one end to the other; 0: none
}

// Validate returns the first error in the configuration.
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
	errand drivers.ExclusiveTask

	mu    sync.Mutex
	moves bool
}

func newCover(name string, cfg CoverConfig, w *World) *Cover {
	return &Cover{twoStates: newTwoStates(name, cfg.LineConfig, w), takes: cfg.Takes}
}

// Open opens the cover.
func (c *Cover) Open(ctx context.Context) error { return c.OpenTo(ctx, 100) }

// Close closes the cover.
func (c *Cover) Close(ctx context.Context) error { return c.OpenTo(ctx, 0) }

// coverStep is the interval of position changes during a movement.
const coverStep = 20 * time.Millisecond

// OpenTo moves the cover to a position in percent. When ctx ends, the cover stops where it
// is.
func (c *Cover) OpenTo(ctx context.Context, percent float64) error {
	return c.Do(ctx, func(ctx context.Context) error {
		if !(percent >= 0 && percent <= 100) {
			return drivers.MarkNothingDone(fmt.Errorf("%v percent is invalid; use 0 to 100", percent))
		}
		task, release, err := c.errand.Begin(ctx, "moving")
		if err != nil {
			return err
		}
		defer release()
		return c.VerbError(task, c.travel(task, percent))
	})
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

// moving records whether the cover moves. The end of a movement counts as a change.
func (c *Cover) moving(is bool) {
	c.mu.Lock()
	c.moves = is
	c.mu.Unlock()
	c.world.signal.Notify()
}

// Stop stops the cover where it is.
func (c *Cover) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &c.Base, func(ctx context.Context) (string, error) { return "", c.errand.End(ctx) })
}

// AtRest reports whether the cover stands still.
func (c *Cover) AtRest(context.Context) (bool, error) { return !c.onItsWay(), nil }

func (c *Cover) onItsWay() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moves
}

// Opening returns the position in percent.
func (c *Cover) Opening(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &c.Base, func(context.Context) (float64, error) {
		if c.onItsWay() {
			return 0, errors.New("the cover is moving")
		}
		is, err := c.world.Opening(c.line)
		return math.Round(is), err
	})
}

// Read returns the contact and the position.
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

// Lock is a door lock.
type Lock struct{ *twoStates }

func newLock(name string, cfg LineConfig, w *World) *Lock { return &Lock{newTwoStates(name, cfg, w)} }

// Lock locks the door.
func (l *Lock) Lock(ctx context.Context) error { return l.set(ctx, false) }

// Unlock unlocks the door.
func (l *Lock) Unlock(ctx context.Context) error { return l.set(ctx, true) }

// Locked reports whether the door is locked.
func (l *Lock) Locked(ctx context.Context) (bool, error) {
	on, err := l.is(ctx)
	return err == nil && !on, err
}

// Read returns the state of the lock.
func (l *Lock) Read(ctx context.Context) ([]drivers.Reading, error) { return l.closed(ctx, "lock") }
