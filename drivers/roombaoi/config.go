package roombaoi

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Config is the configuration of one robot.
type Config struct {
	Port string        `yaml:"port"` // serial port of the cable: /dev/serial/by-id/...
	Baud int           `yaml:"baud"` // 115200; 57600 for robots from before 2006, or if set by their button
	Poll time.Duration `yaml:"poll"` // poll interval during a task
	Safe string        `yaml:"safe"` // stop or keep, at the end of messkit or at a stop
}

// Values of Config.Safe.
const (
	Stop = "stop"
	Keep = "keep"
)

// DefaultConfig returns the default values.
func DefaultConfig() Config { return Config{Baud: 115200, Poll: time.Second, Safe: Stop} }

// Limits for Config.Poll.
const (
	minPoll = 250 * time.Millisecond
	maxPoll = 30 * time.Second
)

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	var errs []error
	if !strings.HasPrefix(c.Port, "/") {
		errs = append(errs, fmt.Errorf("port: %q is not a serial port; write the port of the robot's cable, like /dev/serial/by-id/usb-FTDI_...; messkit discover lists the ports", c.Port))
	}
	if _, known := speeds[c.Baud]; !known {
		errs = append(errs, fmt.Errorf("baud: %d is unknown; write 115200, 57600 or 19200", c.Baud))
	}
	errs = append(errs, drivers.CheckRange("poll", c.Poll, minPoll, maxPoll))
	if c.Safe != Stop && c.Safe != Keep {
		errs = append(errs, fmt.Errorf("safe: %q is unknown; write stop or keep", c.Safe))
	}
	return errors.Join(errs...)
}
