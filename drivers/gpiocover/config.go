package gpiocover

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers/board"
)

// Config of one cover.
type Config struct {
	Up         string        `yaml:"up"`          // the line of the relay that opens it: its name, GPIO17, or its number on the chip
	Down       string        `yaml:"down"`        // ... and of the one that closes it
	Chip       string        `yaml:"chip"`        // of both; "": the one that has the line
	ActiveLow  bool          `yaml:"active_low"`  // 0 V switches them on
	OpenDrain  bool          `yaml:"open_drain"`  // the lines only pull to 0 V
	Bias       string        `yaml:"bias"`        // up, down, none; "": towards off
	TravelTime time.Duration `yaml:"travel_time"` // from closed to open
	TimeDown   time.Duration `yaml:"time_down"`   // from open to closed; 0: as travel_time
	Overrun    time.Duration `yaml:"overrun"`     // longer than that towards an end, so that it is reached
	DeadTime   time.Duration `yaml:"dead_time"`   // both off, before the other direction
}

// DefaultConfig has no lines yet.
func DefaultConfig() Config {
	return Config{Overrun: 2 * time.Second, DeadTime: 500 * time.Millisecond}
}

const (
	minTravel   = time.Second
	maxTravel   = 10 * time.Minute
	maxOverrun  = time.Minute
	minDeadTime = 100 * time.Millisecond // what relays take to open, and an arc to die
	maxDeadTime = 10 * time.Second
)

// Validate tells all that cannot be.
func (c Config) Validate() error {
	var errs []error
	for _, l := range [][2]string{{"up", c.Up}, {"down", c.Down}} {
		if strings.TrimSpace(l[1]) == "" {
			errs = append(errs, fmt.Errorf("%s: is missing; write the name or number of the line of its relay, such as GPIO17; gpioinfo (package gpiod) lists them", l[0]))
		} else if err := c.line(l[1]).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s", l[0], strings.TrimPrefix(err.Error(), "line: ")))
		}
	}
	if c.Up != "" && c.line(c.Up).Same() == c.line(c.Down).Same() {
		errs = append(errs, fmt.Errorf("down: %s is the line of up as well; each direction has a relay of its own", c.Down))
	}
	switch c.Bias {
	case "", "up", "down", "none":
	default:
		errs = append(errs, fmt.Errorf("bias: %q is unknown; write up, down or none, or leave it out", c.Bias))
	}
	switch {
	case c.TravelTime == 0:
		errs = append(errs, errors.New("travel_time: is missing; measure how long it takes from closed to open, and write that, like 24s"))
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
		errs = append(errs, fmt.Errorf("dead_time: %v is not between %v and %v; a motor that is turned round at once breaks", c.DeadTime, minDeadTime, maxDeadTime))
	}
	return errors.Join(errs...)
}

func (c Config) line(name string) board.Line { return board.Line{Chip: c.Chip, Line: name} }

// travel is from one end to the other.
func (c Config) travel(up bool) time.Duration {
	if up || c.TimeDown == 0 {
		return c.TravelTime
	}
	return c.TimeDown
}

// request is how the lines are held, for a device: off from the first moment on.
func (c Config) request(device string) board.Request {
	r := board.Request{Label: board.Label(device), ActiveLow: c.ActiveLow, OpenDrain: c.OpenDrain, Bias: c.Bias, Start: board.Off}
	if r.Bias == "" { // lines that nobody holds are left to their pull resistors
		r.Bias = map[bool]string{true: "up", false: "down"}[c.ActiveLow]
	}
	return r
}
