package gpiocover

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/board"
)

// Config is the configuration of one cover.
type Config struct {
	Up         string        `yaml:"up"`          // GPIO line of the relay that opens the cover: name (GPIO17), or number on the chip
	Down       string        `yaml:"down"`        // GPIO line of the relay that closes the cover
	Chip       string        `yaml:"chip"`        // chip of both lines; "": the chip that has the line
	ActiveLow  bool          `yaml:"active_low"`  // 0 V turns the relays on
	OpenDrain  bool          `yaml:"open_drain"`  // the lines drive only 0 V
	Bias       string        `yaml:"bias"`        // up, down, none; "": towards off
	TravelTime time.Duration `yaml:"travel_time"` // from closed to open
	TimeDown   time.Duration `yaml:"time_down"`   // from open to closed; 0: same as travel_time
	Overrun    time.Duration `yaml:"overrun"`     // additional run time at an end, so that the cover reaches it
	DeadTime   time.Duration `yaml:"dead_time"`   // time with both relays off before a change of direction
}

// DefaultConfig returns a configuration without lines.
func DefaultConfig() Config {
	return Config{Overrun: 2 * time.Second, DeadTime: 500 * time.Millisecond}
}

const (
	minTravel   = time.Second
	maxTravel   = 10 * time.Minute
	maxOverrun  = time.Minute
	minDeadTime = 100 * time.Millisecond // relays need this time to open and to extinguish an arc
	maxDeadTime = 10 * time.Second
)

// Validate returns all errors in the configuration.
func (c Config) Validate() error {
	var errs []error
	for _, l := range [][2]string{{"up", c.Up}, {"down", c.Down}} {
		if strings.TrimSpace(l[1]) == "" {
			errs = append(errs, fmt.Errorf("%s: is missing; write the name or number of the line of its relay, such as GPIO17; gpioinfo (package gpiod) lists them", l[0]))
		} else if err := c.line(l[1]).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s", l[0], strings.TrimPrefix(err.Error(), "line: ")))
		}
	}
	if c.Up != "" && c.line(c.Up).Identity() == c.line(c.Down).Identity() {
		errs = append(errs, fmt.Errorf("down: %s is also the line of up; use a separate relay for each direction", c.Down))
	}
	errs = append(errs, board.CheckBias(c.Bias))
	switch {
	case c.TravelTime == 0:
		errs = append(errs, errors.New("travel_time: is missing; measure the time from closed to open, and write it, like 24s"))
	case c.TravelTime < minTravel || c.TravelTime > maxTravel:
		errs = append(errs, fmt.Errorf("travel_time: %v is not between %v and %v", c.TravelTime, minTravel, maxTravel))
	}
	if c.TimeDown != 0 && (c.TimeDown < minTravel || c.TimeDown > maxTravel) {
		errs = append(errs, fmt.Errorf("time_down: %v is not between %v and %v", c.TimeDown, minTravel, maxTravel))
	}
	if c.Overrun < 0 || c.Overrun > maxOverrun {
		errs = append(errs, fmt.Errorf("overrun: %v is not between 0 and %v", c.Overrun, maxOverrun))
	}
	if c.DeadTime < minDeadTime || c.DeadTime > maxDeadTime {
		errs = append(errs, fmt.Errorf("dead_time: %v is not between %v and %v; a shorter pause before a change of direction damages the motor", c.DeadTime, minDeadTime, maxDeadTime))
	}
	return errors.Join(errs...)
}

func (c Config) line(name string) board.Line { return board.Line{Chip: c.Chip, Line: name} }

// travel returns the time from one end to the other.
func (c Config) travel(up bool) time.Duration {
	if up || c.TimeDown == 0 {
		return c.TravelTime
	}
	return c.TimeDown
}

// request returns the request options of the lines for a device. The lines are off from the
// request on.
func (c Config) request(device string) board.Request {
	r := board.Request{Label: board.ConsumerName(device), ActiveLow: c.ActiveLow, OpenDrain: c.OpenDrain, Bias: c.Bias, Start: board.Off}
	if r.Bias == "" { // the pull resistors set the level of released lines
		r.Bias = map[bool]string{true: "up", false: "down"}[c.ActiveLow]
	}
	return r
}
