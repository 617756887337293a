package stop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// Input is an input that stops everything, such as a mushroom button on a GPIO line.
type Input interface {
	// Watch calls stops with the state of the line at once and at each change, until ctx ends.
	// It returns an error earlier if it cannot read the line.
	Watch(ctx context.Context, stops func(bool)) error
	String() string // a name for people
}

// InputConfig describes a line of the kernel's GPIO character device. A normally closed contact
// to ground, with a pull-up, also stops if its wire breaks.
type InputConfig struct {
	Chip    string `yaml:"chip"`     // gpiochip0
	Line    int    `yaml:"line"`     // its number on the chip; negative for none
	StopsOn string `yaml:"stops_on"` // high or low
	Bias    string `yaml:"bias"`     // up, down or none
}

// DefaultInputConfig returns a configuration without a line.
func DefaultInputConfig() InputConfig {
	return InputConfig{Chip: "gpiochip0", Line: -1, StopsOn: "high", Bias: "up"}
}

// Validate returns an error for each invalid setting.
func (c InputConfig) Validate() error {
	var errs []error
	if c.Line >= 0 && c.Chip == "" {
		errs = append(errs, errors.New("chip: is empty; write a GPIO chip such as gpiochip0"))
	}
	if c.Line < -1 || c.Line > 4096 { // a chip has at most some hundred lines
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

// inputRetry is the delay between a failure of the line and the next try.
const inputRetry = time.Second

// watchInput stops while the line is active or unreadable.
func (s *Latch) watchInput(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.cfg.Input.Watch(ctx, func(stops bool) {
			if stops {
				s.setInput("someone pressed the stop button, or its wire has broken")
			} else {
				s.setInput("")
			}
		})
		if ctx.Err() == nil {
			s.setInput(fmt.Sprintf("cannot read the stop button: %v", err))
			wait.For(ctx, inputRetry)
		}
	}
}

// setInput records why the line is active, and stops.
func (s *Latch) setInput(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.inputActive
	s.inputActive = reason
	if reason != "" && reason != was {
		s.addInputOrder()
	}
}

// addInputOrder adds the order of the line. The caller holds mu.
func (s *Latch) addInputOrder() {
	o := Order{ID: rand.Text(), Reason: s.inputActive, By: s.cfg.Input.String(), At: s.now()}.bounded()
	s.add(o)
	s.queue(o)
}
