package gpiorelay

import (
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/board"
)

// Config is the configuration of one relay.
type Config struct {
	Line      string `yaml:"line"`       // name (GPIO17), or number on the chip
	Chip      string `yaml:"chip"`       // gpiochip0, or the label of a chip; "": the chip that has the line
	ActiveLow bool   `yaml:"active_low"` // 0 V turns the relay on
	OpenDrain bool   `yaml:"open_drain"` // the line drives only 0 V
	Bias      string `yaml:"bias"`       // up, down, none; "": towards off
	drivers.SwitchLevels
	Pulse time.Duration `yaml:"pulse"` // length of a button press when the relay turns on; 0: the relay stays on
}

// DefaultConfig returns a configuration without a line that turns the relay off at Start
// and Halt.
func DefaultConfig() Config {
	return Config{SwitchLevels: drivers.SwitchLevels{Initial: "off", Safe: "off"}}
}

// Limits for the length of a button press.
const (
	minPulse = 5 * time.Millisecond // relays need this time to close
	maxPulse = 20 * time.Second     // a driver call has a limit of 30 seconds
)

// Validate returns all errors in the configuration.
func (c Config) Validate() error {
	errs := []error{c.line().Validate(), c.SwitchLevels.Validate()}
	for _, level := range [][2]string{{"initial", c.Initial}, {"safe", c.Safe}} {
		if key, word := level[0], level[1]; c.Pulse > 0 && (word == "on" || word == "keep") {
			errs = append(errs, fmt.Errorf("%s: %q would keep the button pressed, which pulse releases after %v; omit the key", key, word, c.Pulse))
		}
	}
	errs = append(errs, board.CheckBias(c.Bias))
	if c.Pulse != 0 && (c.Pulse < minPulse || c.Pulse > maxPulse) {
		errs = append(errs, fmt.Errorf("pulse: %v is not between %v and %v", c.Pulse, minPulse, maxPulse))
	}
	return errors.Join(errs...)
}

func (c Config) line() board.Line { return board.Line{Chip: c.Chip, Line: c.Line} }

// request returns the request options of the line for a device.
func (c Config) request(device string) board.Request {
	r := board.Request{Label: board.ConsumerName(device), ActiveLow: c.ActiveLow, OpenDrain: c.OpenDrain, Bias: c.Bias, Start: startOf(c.Initial)}
	if r.Bias == "" && c.Safe == "off" {
		// If the kernel turns a released line into an input, the pull resistor sets its
		// level.
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
