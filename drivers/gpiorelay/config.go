package gpiorelay

import (
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers/board"
)

// Config of one relay.
type Config struct {
	Line      string        `yaml:"line"`       // its name, GPIO17, or its number on the chip
	Chip      string        `yaml:"chip"`       // gpiochip0 or a chip's label; "": the one that has the line
	ActiveLow bool          `yaml:"active_low"` // 0 V switches it on
	OpenDrain bool          `yaml:"open_drain"` // the line only pulls to 0 V
	Bias      string        `yaml:"bias"`       // up, down, none; "": towards off
	Initial   string        `yaml:"initial"`    // on, off or keep, when it starts
	Safe      string        `yaml:"safe"`       // on, off or keep, when it ends
	Pulse     time.Duration `yaml:"pulse"`      // switching on is a press of a button so long; 0: it stays on
}

// DefaultConfig is off at both ends, and has no line yet.
func DefaultConfig() Config { return Config{Initial: "off", Safe: "off"} }

// The shortest and the longest press of a button.
const (
	minPulse = 5 * time.Millisecond // what relays take to close
	maxPulse = 20 * time.Second     // a call of a driver may take 30
)

// Validate tells all that cannot be.
func (c Config) Validate() error {
	errs := []error{c.line().Validate()}
	for _, level := range [][2]string{{"initial", c.Initial}, {"safe", c.Safe}} {
		key, word := level[0], level[1]
		switch {
		case word != "on" && word != "off" && word != "keep":
			errs = append(errs, fmt.Errorf("%s: %q is unknown; write on, off or keep", key, word))
		case word != "off" && c.Pulse > 0:
			errs = append(errs, fmt.Errorf("%s: %q would hold down a button that is pressed for %v; leave it out", key, word, c.Pulse))
		}
	}
	switch c.Bias {
	case "", "up", "down", "none":
	default:
		errs = append(errs, fmt.Errorf("bias: %q is unknown; write up, down or none, or leave it out", c.Bias))
	}
	if c.Pulse != 0 && (c.Pulse < minPulse || c.Pulse > maxPulse) {
		errs = append(errs, fmt.Errorf("pulse: %v is not between %v and %v", c.Pulse, minPulse, maxPulse))
	}
	return errors.Join(errs...)
}

func (c Config) line() board.Line { return board.Line{Chip: c.Chip, Line: c.Line} }

// request is how the line is held, for a device.
func (c Config) request(device string) board.Request {
	r := board.Request{Label: board.Label(device), ActiveLow: c.ActiveLow, OpenDrain: c.OpenDrain, Bias: c.Bias, Start: startOf(c.Initial)}
	if r.Bias == "" && c.Safe == "off" {
		// A kernel that makes an input of a line that nobody holds leaves it to its
		// pull resistor.
		r.Bias = map[bool]string{true: "up", false: "down"}[c.ActiveLow]
	}
	return r
}

func startOf(word string) board.Start {
	switch word {
	case "on":
		return board.On
	case "off":
		return board.Off
	}
	return board.Keep
}
