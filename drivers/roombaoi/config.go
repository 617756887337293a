package roombaoi

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config of one robot.
type Config struct {
	Port string        `yaml:"port"` // of its cable: /dev/serial/by-id/...
	Baud int           `yaml:"baud"` // 115200; 57600 for robots of before 2006, or by their button
	Poll time.Duration `yaml:"poll"` // between two looks at what it is doing
	Safe string        `yaml:"safe"` // stop or keep, when messkit ends or is stopped
}

// What Config.Safe may be.
const (
	Stop = "stop"
	Keep = "keep"
)

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config { return Config{Baud: 115200, Poll: time.Second, Safe: Stop} }

// What Config.Poll may be.
const (
	minPoll = 250 * time.Millisecond
	maxPoll = 30 * time.Second
)

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	var errs []error
	if !strings.HasPrefix(c.Port, "/") {
		errs = append(errs, fmt.Errorf("port: %q is none; write the one of the robot's cable, like /dev/serial/by-id/usb-FTDI_...; messkit discover lists them", c.Port))
	}
	if _, known := speeds[c.Baud]; !known {
		errs = append(errs, fmt.Errorf("baud: %d is unknown; write 115200, 57600 or 19200", c.Baud))
	}
	if c.Poll < minPoll || c.Poll > maxPoll {
		errs = append(errs, fmt.Errorf("poll: %v is not between %v and %v", c.Poll, minPoll, maxPoll))
	}
	if c.Safe != Stop && c.Safe != Keep {
		errs = append(errs, fmt.Errorf("safe: %q is unknown; write stop or keep", c.Safe))
	}
	return errors.Join(errs...)
}
