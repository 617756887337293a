package httpdevice

import (
	"errors"

	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/drivers/template"
)

// Config is the configuration of one device.
type Config struct {
	httpclient.Config
	template.Settings
}

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Config: httpclient.DefaultConfig(), Settings: template.DefaultSettings()}
}

// Validate returns all errors in the configuration. Each begins with its key. New reports
// the errors in a user's template.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate(), c.Settings.Validate()}
	errs = append(errs, templates.Check(Families(), c.Settings, func(t *Template) map[string]template.Param { return t.With })...)
	return errors.Join(errs...)
}
