package onvif

import (
	"errors"
	"time"

	"github.com/messkit/messkit/drivers/httpclient"
)

// Config is the configuration of one camera.
type Config struct {
	httpclient.Config
	Profile string `yaml:"profile"` // name or token of the profile for images; "": the first profile of the camera
}

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	c := Config{Config: httpclient.DefaultConfig()}
	c.Timeout = 10 * time.Second
	return c
}

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if c.Token != "" || c.TokenFile != "" {
		errs = append(errs, errors.New("token: ONVIF has no tokens; write username and password"))
	}
	return errors.Join(errs...)
}
