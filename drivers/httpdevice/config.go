package httpdevice

import (
	"errors"

	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/web"
)

// Config of one device.
type Config struct {
	web.Config
	family.Settings
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Config: web.DefaultConfig(), Settings: family.DefaultSettings()}
}

// Validate tells all that cannot be, each mistake beginning with its key. What
// the family has to say comes with New.
func (c Config) Validate() error { return errors.Join(c.Config.Validate(), c.Settings.Validate()) }
