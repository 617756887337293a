package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Mover      = (*Rover)(nil)
	_ drivers.SafeReader = (*Rover)(nil)
	_ drivers.Guarded    = (*Rover)(nil)
)

// RoverConfig of a rover.
type RoverConfig struct {
	Line string `yaml:"line"` // of the simulated home: its motors
	File string `yaml:"file"` // where the line is kept, so that it outlives the program; "" for memory alone
}

// DefaultRoverConfig is that of the one rover of a home.
func DefaultRoverConfig() RoverConfig { return RoverConfig{Line: "rover"} }

// Validate tells what cannot be.
func (c RoverConfig) Validate() error {
	if c.Line == "" {
		return errors.New("line: is empty; write the name of a line, such as rover")
	}
	return nil
}

// Rover drives about for as long as its lease is renewed. Its motors are a line
// of the home: on while it moves. Where they are kept in a file nobody but a
// program stops them, as with motors on a plain driver board; in memory the rover
// has a timer of its own.
type Rover struct {
	drivers.Life
	cfg   RoverConfig
	world *World

	mu    sync.Mutex
	timer *time.Timer // stops it when its lease is over; nil while it stands still
}

func openRover(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultRoverConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err == nil && cfg.File != "" {
		if cfg.File, err = filepath.Abs(cfg.File); err == nil { // orders go to a process that is elsewhere
			err = w.Keep(cfg.Line, cfg.File)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", env.Name, err)
	}
	return &Rover{Life: drivers.NewLife(env.Name), cfg: cfg, world: w}, nil
}

// Connection is the Gobot adaptor below.
func (r *Rover) Connection() gobot.Connection { return newAdaptor(r.world, r.Name) }

// Start stops what an earlier program has left moving.
func (r *Rover) Start() error {
	if err := r.still(); err != nil {
		return err
	}
	r.Opened()
	return nil
}

// Halt stops it.
func (r *Rover) Halt() error {
	r.Closed()
	return r.still()
}

// Move drives, until lease is over.
func (r *Rover) Move(ctx context.Context, m drivers.Motion, lease time.Duration) error {
	_, done, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if lease <= 0 || lease > drivers.MaxLease {
		return fmt.Errorf("%s: a lease of %v; at most %v", r.Name(), lease, drivers.MaxLease)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.timer == nil {
		if err := r.world.set(r.Name(), r.cfg.Line, m != drivers.Motion{}); err != nil {
			return fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	r.timer = time.AfterFunc(lease, func() { _ = r.still() }) // it is stopped again by who has not renewed it
	return nil
}

// Still stops it.
func (r *Rover) Still(ctx context.Context) error {
	_, done, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	return r.still()
}

func (r *Rover) still() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	moves, err := r.world.level(r.cfg.Line)
	if err == nil && !moves {
		r.timer = nil
		return nil
	}
	if err := r.world.set(r.Name(), r.cfg.Line, false); err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	r.timer = nil
	return nil
}

// Safe reports whether it stands still.
func (r *Rover) Safe(context.Context) (bool, error) {
	moves, err := r.world.level(r.cfg.Line)
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.Name(), err)
	}
	return !moves, nil
}

// Orders stop it: its time is over, or its program is gone.
func (r *Rover) Orders() drivers.Orders {
	if r.cfg.File == "" {
		return drivers.Orders{}
	}
	still, _ := json.Marshal(order{r.cfg.File, r.Name(), false}) // two strings and a truth value always can be
	return drivers.Orders{Off: still, Safe: still}
}
