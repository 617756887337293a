package policy_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

func TestConfirmingRoles(t *testing.T) {
	cfg := policy.DefaultConfig()
	cfg.Confirm = map[capabilities.Risk]policy.Confirm{capabilities.RiskAppliance: policy.ConfirmRequester}
	cfg.Devices = map[string]policy.Limits{"vacuum": {Confirm: policy.ConfirmRequester}, "bell": {Confirm: policy.ConfirmOperator}}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	g := policy.New(cfg, time.Now, slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		device string
		risk   capabilities.Risk
		effect capabilities.Effect
		want   policy.Confirm
	}{
		{"lamp", capabilities.RiskComfort, capabilities.Idempotent, policy.ConfirmNever},
		{"heater", capabilities.RiskAppliance, capabilities.Idempotent, policy.ConfirmRequester},
		{"door", capabilities.RiskAccess, capabilities.Once, policy.ConfirmOperator},
		{"mower", capabilities.RiskMotion, capabilities.Once, policy.ConfirmOperator},
		{"shredder", capabilities.RiskIrreversible, capabilities.Once, policy.ConfirmOperator},
		{"thing", "new-risk", capabilities.Once, policy.ConfirmOperator},
		{"vacuum", capabilities.RiskMotion, capabilities.Once, policy.ConfirmRequester},
		{"bell", capabilities.RiskComfort, capabilities.Once, policy.ConfirmOperator},
		{"bell", capabilities.RiskComfort, capabilities.Query, policy.ConfirmNever},
	} {
		v, err := g.Check(capabilities.Plan{Device: c.device, Risk: c.risk, Effect: c.effect})
		if err != nil || v.Confirm != c.want {
			t.Errorf("%s (%s, %s): %q, %v, want %q", c.device, c.risk, c.effect, v.Confirm, err, c.want)
		}
	}
}

func TestConfigReportsEveryError(t *testing.T) {
	cfg := policy.Config{
		Confirm: map[capabilities.Risk]policy.Confirm{capabilities.RiskMotion: policy.ConfirmRequester, "noise": policy.ConfirmOperator, capabilities.RiskComfort: "maybe"},
		Devices: map[string]policy.Limits{"lamp": {MaxOn: -1, Busy: "queue", Confirm: "boss"}},
	}
	err := cfg.Validate()
	for _, want := range []string{
		`confirm.motion: "requester" is weaker than "operator"`, "confirm.noise: unknown risk", `confirm.comfort: unknown value "maybe"`,
		"devices.lamp.max_on", "devices.lamp.busy", "devices.lamp.confirm",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

func FuzzParseHours(f *testing.F) {
	for _, s := range []string{"22:00-07:00", "9:00-17:30", "", "-", "24:00-25:00", "07:00-07:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := policy.ParseHours(s)
		if err != nil {
			if h != (policy.Hours{}) {
				t.Errorf("%q: an error and %v", s, h)
			}
			return
		}
		if again, err := policy.ParseHours(h.String()); err != nil || again != h {
			t.Errorf("%q prints as %q: %v, %v", s, h, again, err)
		}
	})
}

var _ drivers.Switch = (*lamp)(nil)

func TestHoursAsText(t *testing.T) {
	var h policy.Hours
	if err := h.UnmarshalText([]byte("9:05 - 17:30")); err != nil {
		t.Fatal(err)
	}
	if text, err := h.MarshalText(); err != nil || string(text) != "09:05-17:30" {
		t.Errorf("%s, %v", text, err)
	}
	if err := h.UnmarshalText([]byte("noon")); err == nil || h != (policy.Hours{}) {
		t.Errorf("%v, %v", h, err)
	}
}
