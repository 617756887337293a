package valetudo

import (
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

// Config of one robot.
type Config struct {
	web.Config
	Segments map[string]string `yaml:"segments"` // the robot's ids of rooms, and what people call them; none: the robot's own names
	Passes   int               `yaml:"passes"`   // how often each room is gone over
	Poll     time.Duration     `yaml:"poll"`     // between two looks at what it is doing
	Safe     string            `yaml:"safe"`     // stop or keep, when messkit ends or is stopped
}

// What Config.Safe may be.
const (
	Stop = "stop"
	Keep = "keep"
)

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Config: web.DefaultConfig(), Passes: 1, Poll: 2 * time.Second, Safe: Stop}
}

const (
	minPoll   = 2 * time.Second // a robot's small computer finds its way meanwhile
	maxPoll   = time.Minute
	maxPasses = 4
)

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if c.Token != "" || c.TokenFile != "" {
		errs = append(errs, errors.New("token: Valetudo has none; write username and password"))
	}
	errs = append(errs, drivers.CheckSegments(c.Segments)...)
	if c.Passes < 1 || c.Passes > maxPasses {
		errs = append(errs, fmt.Errorf("passes: %d is not between 1 and %d", c.Passes, maxPasses))
	}
	if c.Poll < minPoll || c.Poll > maxPoll {
		errs = append(errs, fmt.Errorf("poll: %v is not between %v and %v", c.Poll, minPoll, maxPoll))
	}
	if c.Safe != Stop && c.Safe != Keep {
		errs = append(errs, fmt.Errorf("safe: %q is unknown; write stop or keep", c.Safe))
	}
	return errors.Join(errs...)
}
