package config

import (
	"log/slog"
	"time"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
)

// Resolver returns the resolver for the devices of this configuration.
func (c *Config) Resolver() *resolver.Resolver { return c.resolverWithClock(c.Agent.Unset) }

// PreviewResolver returns a resolver for previews, which trusts the clock.
func (c *Config) PreviewResolver() *resolver.Resolver {
	return c.resolverWithClock(func() error { return nil })
}

func (c *Config) resolverWithClock(unset func() error) *resolver.Resolver {
	setting := capabilities.Home{MaxSteps: c.Agent.MaxSteps, SiteCapabilities: c.Agent.Facts, DefaultWatch: c.Agent.Watch.Default, MaxWatch: c.Agent.Watch.Longest}
	if p := c.Agent.Position; p != nil {
		setting.Location = &capabilities.LatLng{Lat: p.Lat, Lng: p.Lng}
	}
	return c.Opened.Resolver().In(setting, func() (time.Time, error) { return time.Now(), unset() })
}

// PolicyConfig returns the settings of the safety policy.
func (c *Config) PolicyConfig() settings.Config {
	return settings.Config{Confirm: c.Agent.Confirm, DryRun: c.Agent.DryRun, MaxActs: c.Agent.MaxActs, Risks: c.Opened.Risks(), Defaults: c.Agent.Limits, Devices: c.Opened.Limits()}
}

// NewPolicy makes the safety policy of the executor. It reads the decisions of local operators in
// the data folder.
func (c *Config) NewPolicy(log *slog.Logger, known ...policy.Option) *policy.Policy {
	wall := func() (time.Time, error) { return time.Now(), c.Agent.Unset() }
	own := []policy.Option{policy.WithWallClock(wall), policy.WithLocalDecisions(localpolicy.In(c.Agent.Data).Decisions)}
	return policy.New(c.PolicyConfig(), time.Now, log, append(own, known...)...)
}
