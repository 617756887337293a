package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Turner      = (*Servo)(nil)
	_ drivers.AngleReader = (*Servo)(nil)
	_ drivers.SafeReader  = (*Servo)(nil)
)

// ServoConfig of a servo.
type ServoConfig struct {
	Min       float64            `yaml:"min"` // degrees
	Max       float64            `yaml:"max"`
	Positions map[string]float64 `yaml:"positions"` // angles with a name
	Takes     time.Duration      `yaml:"takes"`     // from one end to the other
	Park      *float64           `yaml:"park"`      // where it turns to when it ends; none: it holds
}

// DefaultServoConfig is a servo of 180 degrees that looks ahead.
func DefaultServoConfig() ServoConfig { return ServoConfig{Max: 180} }

func (c ServoConfig) turns() drivers.Turns {
	t := drivers.Turns{Min: c.Min, Max: c.Max}
	for _, name := range slices.Sorted(maps.Keys(c.Positions)) {
		t.Positions = append(t.Positions, drivers.Position{Name: name, Degrees: c.Positions[name]})
	}
	return t
}

// Validate tells what cannot be.
func (c ServoConfig) Validate() error {
	var errs []error
	t := c.turns()
	if !(c.Min >= 0 && c.Min < c.Max && c.Max <= 360) {
		errs = append(errs, fmt.Errorf("min: %g to %g degrees cannot be; write 0 to 360", c.Min, c.Max))
	}
	for _, p := range t.Positions {
		if err := t.Check(p.Degrees); err != nil {
			errs = append(errs, fmt.Errorf("positions: %s: %w", p.Name, err))
		}
	}
	if c.Park != nil && t.Check(*c.Park) != nil {
		errs = append(errs, fmt.Errorf("park: %g degrees is not within %g to %g", *c.Park, c.Min, c.Max))
	}
	if c.Takes < 0 || c.Takes > time.Minute {
		errs = append(errs, fmt.Errorf("takes: %v is not between 0 and a minute", c.Takes))
	}
	return errors.Join(errs...)
}

// Servo turns, and tells where it stands. It does not move at Start.
type Servo struct {
	drivers.Life
	cfg   ServoConfig
	world *World

	mu sync.Mutex
	at float64 // degrees
}

func openServo(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultServoConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return &Servo{Life: drivers.NewLife(env.Name), cfg: cfg, world: w, at: (cfg.Min + cfg.Max) / 2}, nil
}

// Connection is the Gobot adaptor below.
func (s *Servo) Connection() gobot.Connection { return newAdaptor(s.world, s.Name) }

// Start makes it ready; it stays where it is.
func (s *Servo) Start() error { s.Opened(); return nil }

// Halt parks it, if it is to.
func (s *Servo) Halt() error {
	s.Closed()
	if s.cfg.Park != nil {
		s.set(*s.cfg.Park)
	}
	return nil
}

// Safe tells whether it is parked, if it is to be.
func (s *Servo) Safe(context.Context) (bool, error) {
	return s.cfg.Park == nil || s.is() == *s.cfg.Park, nil
}

// Turns are its limits.
func (s *Servo) Turns() drivers.Turns { return s.cfg.turns() }

// TurnTo turns it; it stands where it is when ctx ends.
func (s *Servo) TurnTo(ctx context.Context, degrees float64) error {
	ctx, done, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.cfg.turns().Check(degrees); err != nil {
		return s.Named(err)
	}
	from := s.is()
	way := time.Duration(float64(s.cfg.Takes) * max(from-degrees, degrees-from) / (s.cfg.Max - s.cfg.Min))
	t := time.NewTimer(way)
	defer t.Stop()
	began := time.Now()
	select {
	case <-t.C:
		s.set(degrees)
		return nil
	case <-ctx.Done():
		if way > 0 {
			s.set(from + (degrees-from)*min(1, float64(time.Since(began))/float64(way)))
		}
		return s.Told(ctx, ctx.Err())
	}
}

// Angle is where it stands.
func (s *Servo) Angle(ctx context.Context) (float64, error) {
	_, done, err := s.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return s.is(), nil
}

func (s *Servo) is() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *Servo) set(degrees float64) {
	s.mu.Lock()
	s.at = degrees
	s.mu.Unlock()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.note(s.Name(), "turned to %g degrees", degrees)
}
