package httpdevice

import (
	"errors"

	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/web"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Config is the configuration of one device.
type Config struct {
	web.Config
	family.Settings
}

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Config: web.DefaultConfig(), Settings: family.DefaultSettings()}
}

// Validate returns all errors in the configuration. Each begins with its key. New reports
// the errors in a user's template.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate(), c.Settings.Validate()}
	t, err := templates.Load(Families(), c.Families, c.Family)
	if _, own := errors.AsType[strictyaml.Problems](err); err == nil {
		_, more := family.Resolve(t.With, c.With)
		errs = append(errs, more...)
	} else if !own {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
