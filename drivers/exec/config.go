package exec

import (
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers/command"
)

// Limits of every command of a device.
type Limits struct {
	Timeout time.Duration `yaml:"timeout"` // for one command; then it and what it has started are killed
	Env     []string      `yaml:"env"`     // NAME=VALUE, beside PATH, LANG and HOME; no secrets: others may read it
}

func defaultLimits() Limits { return Limits{Timeout: 10 * time.Second} }

// maxTimeout leaves a command time to be killed within a call of a driver.
const (
	minTimeout = 10 * time.Millisecond
	maxTimeout = 5 * time.Minute
)

func (l Limits) validate() error {
	if l.Timeout < minTimeout || l.Timeout > maxTimeout {
		return fmt.Errorf("timeout: %v is not between %v and %v", l.Timeout, minTimeout, maxTimeout)
	}
	return nil
}

// checkAll checks commands by their keys.
func checkAll(commands ...keyed) error {
	var errs []error
	for _, c := range commands {
		if len(c.args) == 0 && c.optional {
			continue
		}
		if err := command.Check(c.args); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.key, err))
		}
	}
	return errors.Join(errs...)
}

// keyed is a command and where it stands.
type keyed struct {
	key      string
	args     []string
	optional bool
}

// SwitchConfig of something that commands switch.
type SwitchConfig struct {
	Limits
	On      []string `yaml:"on"`      // program and arguments
	Off     []string `yaml:"off"`     //
	State   []string `yaml:"state"`   // ends with 0 where it is on, with 1 where it is off; none: it cannot tell
	Initial string   `yaml:"initial"` // on, off or keep, when it starts
	Safe    string   `yaml:"safe"`    // on, off or keep, when it ends
}

// DefaultSwitchConfig is off at both ends, and has no commands yet.
func DefaultSwitchConfig() SwitchConfig {
	return SwitchConfig{Limits: defaultLimits(), Initial: "off", Safe: "off"}
}

// Validate tells all that cannot be.
func (c SwitchConfig) Validate() error {
	errs := []error{c.Limits.validate(), checkAll(keyed{"on", c.On, false}, keyed{"off", c.Off, false}, keyed{"state", c.State, true})}
	for _, level := range [][2]string{{"initial", c.Initial}, {"safe", c.Safe}} {
		if key, word := level[0], level[1]; word != "on" && word != "off" && word != "keep" {
			errs = append(errs, fmt.Errorf("%s: %q is unknown; write on, off or keep", key, word))
		}
	}
	return errors.Join(errs...)
}

// SensorConfig of something that a command measures.
type SensorConfig struct {
	Limits
	Read     []string `yaml:"read"`     // program and arguments; it says one number
	Quantity string   `yaml:"quantity"` // what that is
	Unit     string   `yaml:"unit"`     // "" for a truth value of 0 or 1
}

// DefaultSensorConfig has no command yet.
func DefaultSensorConfig() SensorConfig { return SensorConfig{Limits: defaultLimits()} }

// Validate tells all that cannot be.
func (c SensorConfig) Validate() error {
	errs := []error{c.Limits.validate(), checkAll(keyed{"read", c.Read, false})}
	if c.Quantity == "" {
		errs = append(errs, errors.New("quantity: is missing; write what the number is, such as temperature"))
	}
	return errors.Join(errs...)
}

// CameraConfig of something that a command photographs.
type CameraConfig struct {
	Limits
	Photo    []string `yaml:"photo"`     // program and arguments; it writes one JPEG or PNG to its standard output
	MaxBytes int      `yaml:"max_bytes"` // of the picture
}

// DefaultCameraConfig has no command yet.
func DefaultCameraConfig() CameraConfig {
	return CameraConfig{Limits: defaultLimits(), MaxBytes: 16 << 20}
}

// Validate tells all that cannot be.
func (c CameraConfig) Validate() error {
	errs := []error{c.Limits.validate(), checkAll(keyed{"photo", c.Photo, false})}
	if c.MaxBytes < 1<<10 {
		errs = append(errs, fmt.Errorf("max_bytes: %d is too few for a picture; write at least 1024", c.MaxBytes))
	}
	return errors.Join(errs...)
}
