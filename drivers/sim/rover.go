package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Mover          = (*Rover)(nil)
	_ drivers.SafeReader     = (*Rover)(nil)
	_ drivers.WatchdogTarget = (*Rover)(nil)
)

// RoverConfig is the configuration of a rover.
type RoverConfig struct {
	Line string `yaml:"line"` // line of its motors in the simulated home
	File string `yaml:"file"` // file for the state of the line, which outlives the program; "" for memory only
}

// DefaultRoverConfig returns the configuration of the only rover of a home.
func DefaultRoverConfig() RoverConfig { return RoverConfig{Line: "rover"} }

// Validate returns the first error in the configuration.
func (c RoverConfig) Validate() error {
	if c.Line == "" {
		return errors.New("line: is empty; write the name of a line, such as rover")
	}
	return nil
}

// Rover moves while its caller renews its lease. Its motors are a line of the home, which
// is on during a movement. With a file, only a program stops them, like motors on a plain
// driver board; in memory the rover has a timer of its own.
type Rover struct {
	drivers.Base
	cfg   RoverConfig
	world *World

	mu    sync.Mutex
	timer *time.Timer // stops the rover at the end of its lease; nil while it stands still
}

func openRover(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultRoverConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := worldWith(env, cfg.Line, &cfg.File)
	if err != nil {
		return nil, err
	}
	return &Rover{Base: drivers.NewBase(env.Name), cfg: cfg, world: w}, nil
}

// Start stops a movement of an earlier process.
func (r *Rover) Start() error {
	if err := r.still(); err != nil {
		return r.WithName(err)
	}
	r.MarkStarted()
	return nil
}

// Halt stops the rover.
func (r *Rover) Halt() error {
	r.StopVerbs()
	return r.WithName(r.still())
}

// Move moves the rover until the end of lease.
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
	r.timer = time.AfterFunc(lease, func() { _ = r.still() }) // the caller stops it again without a renewal
	return nil
}

// StopMoving stops the rover.
func (r *Rover) StopMoving(ctx context.Context) error {
	return r.Do(ctx, func(context.Context) error { return r.still() })
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
		return err
	}
	r.timer = nil
	return nil
}

// Safe reports whether the rover stands still.
func (r *Rover) Safe(context.Context) (bool, error) {
	moves, err := r.world.level(r.cfg.Line)
	return err == nil && !moves, r.WithName(err)
}

// WatchdogCommands returns the command that stops the rover after its time, or after its
// program has died.
func (r *Rover) WatchdogCommands() drivers.WatchdogCommands {
	if r.cfg.File == "" {
		return drivers.WatchdogCommands{}
	}
	still, _ := json.Marshal(order{r.cfg.File, r.Name(), false}) // JSON can represent all of its fields
	return drivers.WatchdogCommands{Off: still, Safe: still}
}
