package httpdevice

import (
	"errors"

	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/web"
	"github.com/messkit/messkit/internal/strictyaml"
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
// is wrong with a template of the user's own comes with New.
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
