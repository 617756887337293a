package valetudo

import (
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

// Config is the configuration of one robot.
type Config struct {
	httpclient.Config
	Segments map[string]string `yaml:"segments"` // id of a room in the robot to the name that people use; none: the names in the robot
	Passes   int               `yaml:"passes"`   // how often the robot cleans each room
	Poll     time.Duration     `yaml:"poll"`     // poll interval during a task
	Safe     string            `yaml:"safe"`     // stop or keep, at the end of messkit or at a stop
}

// Values of Config.Safe.
const (
	Stop = "stop"
	Keep = "keep"
)

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Config: httpclient.DefaultConfig(), Passes: 1, Poll: 2 * time.Second, Safe: Stop}
}

const (
	minPoll   = 2 * time.Second // the small computer of the robot also navigates
	maxPoll   = time.Minute
	maxPasses = 4
)

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if c.Token != "" || c.TokenFile != "" {
		errs = append(errs, errors.New("token: Valetudo has no tokens; write username and password"))
	}
	errs = append(errs, drivers.CheckSegments(c.Segments)...)
	errs = append(errs, drivers.CheckRange("passes", c.Passes, 1, maxPasses))
	errs = append(errs, drivers.CheckRange("poll", c.Poll, minPoll, maxPoll))
	if c.Safe != Stop && c.Safe != Keep {
		errs = append(errs, fmt.Errorf("safe: %q is unknown; write stop or keep", c.Safe))
	}
	return errors.Join(errs...)
}
