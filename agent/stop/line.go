package stop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Line is an input that stops everything: a mushroom button on a GPIO line.
type Line interface {
	// Watch tells whether the line stops, at once and whenever that changes,
	// until ctx ends. It returns earlier when the line cannot be read.
	Watch(ctx context.Context, stops func(bool)) error
	String() string // for people
}

// LineConfig is a line of the kernel's GPIO character device. A contact that
// opens when it is pressed, from the line to ground, with a pull-up, stops when
// its wire breaks as well.
type LineConfig struct {
	Chip    string `yaml:"chip"`     // gpiochip0
	Line    int    `yaml:"line"`     // its number on the chip; negative for none
	StopsOn string `yaml:"stops_on"` // high or low
	Bias    string `yaml:"bias"`     // up, down or none
}

// DefaultLineConfig has no line.
func DefaultLineConfig() LineConfig {
	return LineConfig{Chip: "gpiochip0", Line: -1, StopsOn: "high", Bias: "up"}
}

// Validate tells every setting that cannot be.
func (c LineConfig) Validate() error {
	var errs []error
	if c.Line >= 0 && c.Chip == "" {
		errs = append(errs, errors.New("chip: is empty; write a GPIO chip such as gpiochip0"))
	}
	if c.Line < -1 || c.Line > 4096 { // the kernel's chips have some hundreds
		errs = append(errs, fmt.Errorf("line: %d is on no chip; write the number that gpioinfo shows, -1 for none", c.Line))
	}
	if c.StopsOn != "high" && c.StopsOn != "low" {
		errs = append(errs, fmt.Errorf("stops_on: %q is unknown; write high or low", c.StopsOn))
	}
	if c.Bias != "up" && c.Bias != "down" && c.Bias != "none" {
		errs = append(errs, fmt.Errorf("bias: %q is unknown; write up, down or none", c.Bias))
	}
	return errors.Join(errs...)
}

// lineAgain is how long after a line was lost it is tried again.
const lineAgain = time.Second

// follow stops while the line says so, and when it cannot be read.
func (s *Stopper) follow(ctx context.Context) {
	for {
		err := s.cfg.Line.Watch(ctx, func(stops bool) {
			if stops {
				s.hold("the stop button is pressed, or its wire is broken")
			} else {
				s.hold("")
			}
		})
		if ctx.Err() != nil {
			return
		}
		s.hold(fmt.Sprintf("the stop button cannot be read: %v", err))
		t := time.NewTimer(lineAgain)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// hold notes why the line stops now, and stops.
func (s *Stopper) hold(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.held
	s.held = why
	if why != "" && why != was {
		s.addLine()
	}
}

// addLine stops by the order of the line. mu is held.
func (s *Stopper) addLine() {
	o := Order{ID: rand.Text(), Why: s.held, By: s.cfg.Line.String(), At: s.now()}.bounded()
	s.add(o)
	s.write(o)
}
