package exec

import (
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/process"
)

// Limits contains the limits for each command of a device.
type Limits struct {
	Timeout time.Duration `yaml:"timeout"` // limit for one command; after it messkit kills the command and the processes that it has started
	Env     []string      `yaml:"env"`     // NAME=VALUE, in addition to PATH, LANG and HOME; no secrets, because other users may read it
}

func defaultLimits() Limits { return Limits{Timeout: 10 * time.Second} }

// maxTimeout leaves time to kill a command within the time limit of a driver call.
const (
	minTimeout = 10 * time.Millisecond
	maxTimeout = 5 * time.Minute
)

func (l Limits) validate() error {
	return drivers.CheckRange("timeout", l.Timeout, minTimeout, maxTimeout)
}

// checkAll checks commands. Each error begins with the key of its command.
func checkAll(commands ...keyedCommand) error {
	var errs []error
	for _, c := range commands {
		if len(c.args) == 0 && c.optional {
			continue
		}
		if err := process.Check(c.args); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.key, err))
		}
	}
	return errors.Join(errs...)
}

// keyedCommand is a command with its configuration key.
type keyedCommand struct {
	key      string
	args     []string
	optional bool
}

// SwitchConfig is the configuration of a switch that commands operate.
type SwitchConfig struct {
	Limits
	On    []string `yaml:"on"`    // program and arguments
	Off   []string `yaml:"off"`   // program and arguments
	State []string `yaml:"state"` // exit code 0 means on, 1 means off; empty: the device has no readback
	drivers.SwitchLevels
}

// DefaultSwitchConfig returns a configuration without commands that turns the switch off at
// Start and Halt.
func DefaultSwitchConfig() SwitchConfig {
	return SwitchConfig{Limits: defaultLimits(), SwitchLevels: drivers.SwitchLevels{Initial: "off", Safe: "off"}}
}

// Validate returns all errors in the configuration.
func (c SwitchConfig) Validate() error {
	errs := []error{c.Limits.validate(), checkAll(keyedCommand{"on", c.On, false}, keyedCommand{"off", c.Off, false}, keyedCommand{"state", c.State, true}), c.SwitchLevels.Validate()}
	return errors.Join(errs...)
}

// SensorConfig is the configuration of a sensor that a command reads.
type SensorConfig struct {
	Limits
	Read     []string `yaml:"read"`     // program and arguments; it writes one number
	Quantity string   `yaml:"quantity"` // quantity that the number measures
	Unit     string   `yaml:"unit"`     // unit; "" for a truth value of 0 or 1
}

// DefaultSensorConfig returns a configuration without a command.
func DefaultSensorConfig() SensorConfig { return SensorConfig{Limits: defaultLimits()} }

// Validate returns all errors in the configuration.
func (c SensorConfig) Validate() error {
	errs := []error{c.Limits.validate(), checkAll(keyedCommand{"read", c.Read, false})}
	if c.Quantity == "" {
		errs = append(errs, errors.New("quantity: is missing; write the quantity that the number measures, such as temperature"))
	}
	return errors.Join(errs...)
}

// CameraConfig is the configuration of a camera whose images a command takes.
type CameraConfig struct {
	Limits
	Photo    []string `yaml:"photo"`     // program and arguments; it writes one JPEG or PNG image to its standard output
	MaxBytes int      `yaml:"max_bytes"` // limit for the image
}

// DefaultCameraConfig returns a configuration without a command.
func DefaultCameraConfig() CameraConfig {
	return CameraConfig{Limits: defaultLimits(), MaxBytes: 16 << 20}
}

// Validate returns all errors in the configuration.
func (c CameraConfig) Validate() error {
	errs := []error{c.Limits.validate(), checkAll(keyedCommand{"photo", c.Photo, false})}
	if c.MaxBytes < 1<<10 {
		errs = append(errs, fmt.Errorf("max_bytes: %d is too small for an image; write at least 1024", c.MaxBytes))
	}
	return errors.Join(errs...)
}
