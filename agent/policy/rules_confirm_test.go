package policy_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

func TestConfirmingRoles(t *testing.T) {
	cfg := settings.DefaultConfig()
	cfg.Confirm = map[capabilities.Risk]settings.Confirm{capabilities.RiskAppliance: settings.ConfirmRequester}
	cfg.Devices = map[string]settings.Limits{"vacuum": {Confirm: settings.ConfirmRequester}, "bell": {Confirm: settings.ConfirmOperator}}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	g := policy.New(cfg, time.Now, slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		device string
		risk   capabilities.Risk
		effect capabilities.Effect
		want   settings.Confirm
	}{
		{"lamp", capabilities.RiskComfort, capabilities.Idempotent, settings.ConfirmNever},
		{"heater", capabilities.RiskAppliance, capabilities.Idempotent, settings.ConfirmRequester},
		{"door", capabilities.RiskAccess, capabilities.Once, settings.ConfirmOperator},
		{"mower", capabilities.RiskMotion, capabilities.Once, settings.ConfirmOperator},
		{"shredder", capabilities.RiskIrreversible, capabilities.Once, settings.ConfirmOperator},
		{"thing", "new-risk", capabilities.Once, settings.ConfirmOperator},
		{"vacuum", capabilities.RiskMotion, capabilities.Once, settings.ConfirmRequester},
		{"bell", capabilities.RiskComfort, capabilities.Once, settings.ConfirmOperator},
		{"bell", capabilities.RiskComfort, capabilities.Query, settings.ConfirmNever},
	} {
		v, err := g.Check(capabilities.Plan{Device: c.device, Risk: c.risk, Effect: c.effect})
		if err != nil || v.Confirm != c.want {
			t.Errorf("%s (%s, %s): %q, %v, want %q", c.device, c.risk, c.effect, v.Confirm, err, c.want)
		}
	}
}

var _ drivers.Switch = (*lamp)(nil)
