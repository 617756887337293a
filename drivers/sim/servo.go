package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

var (
	_ drivers.Turner      = (*Servo)(nil)
	_ drivers.AngleReader = (*Servo)(nil)
	_ drivers.SafeReader  = (*Servo)(nil)
)

// ServoConfig is the configuration of a servo.
type ServoConfig struct {
	Min       float64            `yaml:"min"` // degrees
	Max       float64            `yaml:"max"`
	Positions map[string]float64 `yaml:"positions"` // named angles
	Takes     time.Duration      `yaml:"takes"`     // time from one end to the other
	Park      *float64           `yaml:"park"`      // angle at Halt; none: the servo keeps its angle
}

// DefaultServoConfig returns the configuration of a servo of 180 degrees at 0.
func DefaultServoConfig() ServoConfig { return ServoConfig{Max: 180} }

func (c ServoConfig) turns() drivers.AngleLimits {
	t := drivers.AngleLimits{Min: c.Min, Max: c.Max}
	for _, name := range slices.Sorted(maps.Keys(c.Positions)) {
		t.NamedAngles = append(t.NamedAngles, drivers.NamedAngle{Name: name, Degrees: c.Positions[name]})
	}
	return t
}

// Validate returns all errors in the configuration.
func (c ServoConfig) Validate() error {
	var errs []error
	t := c.turns()
	if !(c.Min >= 0 && c.Min < c.Max && c.Max <= 360) {
		errs = append(errs, fmt.Errorf("min: %g to %g degrees is invalid; write 0 to 360", c.Min, c.Max))
	}
	for _, p := range t.NamedAngles {
		if err := t.Check(p.Degrees); err != nil {
			errs = append(errs, fmt.Errorf("positions: %s: %w", p.Name, err))
		}
	}
	if c.Park != nil && t.Check(*c.Park) != nil {
		errs = append(errs, fmt.Errorf("park: %g degrees is outside of %g to %g", *c.Park, c.Min, c.Max))
	}
	if c.Takes < 0 || c.Takes > time.Minute {
		errs = append(errs, fmt.Errorf("takes: %v is not between 0 and a minute", c.Takes))
	}
	return errors.Join(errs...)
}

// Servo turns to angles, and reports its angle. It does not move at Start.
type Servo struct {
	drivers.Passive
	cfg   ServoConfig
	world *World

	mu sync.Mutex
	at float64 // degrees
}

func newServo(name string, cfg ServoConfig, w *World) *Servo {
	return &Servo{Passive: drivers.NewPassive(name), cfg: cfg, world: w, at: (cfg.Min + cfg.Max) / 2}
}

// Halt turns the servo to Park, if configured.
func (s *Servo) Halt() error {
	s.StopVerbs()
	if s.cfg.Park != nil {
		s.set(*s.cfg.Park)
	}
	return nil
}

// Safe reports whether the servo is at Park, if configured.
func (s *Servo) Safe(context.Context) (bool, error) {
	return s.cfg.Park == nil || s.is() == *s.cfg.Park, nil
}

// AngleLimits returns the limits of the servo.
func (s *Servo) AngleLimits() drivers.AngleLimits { return s.cfg.turns() }

// TurnTo turns the servo. When ctx ends, the servo stops where it is.
func (s *Servo) TurnTo(ctx context.Context, degrees float64) error {
	return s.Do(ctx, func(ctx context.Context) error {
		if err := s.cfg.turns().Check(degrees); err != nil {
			return err
		}
		from := s.is()
		way := time.Duration(float64(s.cfg.Takes) * max(from-degrees, degrees-from) / (s.cfg.Max - s.cfg.Min))
		began := time.Now()
		if wait.For(ctx, way) {
			s.set(degrees)
			return nil
		}
		if way > 0 {
			s.set(from + (degrees-from)*min(1, float64(time.Since(began))/float64(way)))
		}
		return ctx.Err()
	})
}

// Angle returns the present angle.
func (s *Servo) Angle(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &s.Base, func(context.Context) (float64, error) { return s.is(), nil })
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
