package onvif

import (
	"errors"
	"time"

	"github.com/messkit/messkit/drivers/web"
)

// Config of one camera.
type Config struct {
	web.Config
	Profile string `yaml:"profile"` // name or token of the profile that the picture is of; "": the camera's first
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	c := Config{Config: web.DefaultConfig()}
	c.Timeout = 10 * time.Second
	return c
}

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if c.Token != "" || c.TokenFile != "" {
		errs = append(errs, errors.New("token: is not known in ONVIF; write username and password"))
	}
	return errors.Join(errs...)
}
