package daemon

import (
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/config"
)

// newResolver returns the resolver for the devices of this configuration.
func newResolver(c *config.Config) *resolver.Resolver { return resolverWithClock(c, c.Agent.Unset) }

// PreviewResolver returns a resolver for previews, which trusts the clock.
func PreviewResolver(c *config.Config) *resolver.Resolver {
	return resolverWithClock(c, func() error { return nil })
}

func resolverWithClock(c *config.Config, unset func() error) *resolver.Resolver {
	setting := capabilities.Home{MaxSteps: c.Agent.MaxSteps, SiteCapabilities: c.Agent.Facts, DefaultWatch: c.Agent.Watch.Default, MaxWatch: c.Agent.Watch.Longest}
	if p := c.Agent.Position; p != nil {
		setting.Location = &capabilities.LatLng{Lat: p.Lat, Lng: p.Lng}
	}
	return c.Opened.Resolver().In(setting, func() (time.Time, error) { return time.Now(), unset() })
}

// policyConfig returns the settings of the safety policy.
func policyConfig(c *config.Config) policy.Config {
	return policy.Config{Confirm: c.Agent.Confirm, DryRun: c.Agent.DryRun, MaxActs: c.Agent.MaxActs, Risks: c.Opened.Risks(), Defaults: c.Agent.Limits, Devices: c.Opened.Limits()}
}
