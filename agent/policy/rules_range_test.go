package policy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

func TestRange(t *testing.T) {
	limits := settings.Limits{MaxOn: time.Hour, Range: settings.Ranges{
		capabilities.SetSwitch: {"level": {Min: new(10.0), Max: new(50.0)}, "for": {Max: new(3600.0)}},
		capabilities.Clean:     {"areas": {Only: []string{"kitchen", "hall"}}},
	}}
	set := func(on bool, level any, d time.Duration) capabilities.Plan {
		p := switchPlan(on, d)
		if level != nil {
			p.Args = append(p.Args, mess.Field{Key: "level", Value: level})
		}
		return p
	}
	clean := func(areas any) capabilities.Plan {
		return capabilities.Plan{Device: "lamp", Command: capabilities.Clean, Effect: capabilities.Once, Args: mess.Object{{Key: "areas", Value: areas}}}
	}
	for _, c := range []struct {
		name string
		plan capabilities.Plan
		want string // text of the rejection; "" for none
	}{
		{"the lower end", set(true, 10.0, 0), ""},
		{"the upper end", set(true, mess.Number("50"), time.Hour), ""},
		{"read from JSON", set(true, mess.Number("5e1"), 0), ""},
		{"above", set(true, 50.001, 0), "level is 50.001, and may be 10 to 50"},
		{"below", set(true, 9, 0), "level is 9, and may be 10 to 50"},
		{"negative zero", set(true, math.Copysign(0, -1), 0), "level is -0"},
		{"not a number", set(true, math.NaN(), 0), "level is NaN"},
		{"without end", set(true, math.Inf(1), 0), "level is +Inf"},
		{"a word", set(true, "full", 0), "level is full, which is no number"},
		{"a truth value", set(true, true, 0), "level is true, which is no number"},
		{"not given", set(true, nil, 0), "level is not given"},
		{"off needs none", set(false, nil, 0), ""},
		{"off with one outside", set(false, 80.0, 0), "level is 80"},
		{"too long", set(true, 10.0, time.Hour+time.Second), "for is 3601"},
		{"a known area", clean([]string{"hall"}), ""},
		{"one of two", clean([]any{"hall", "nursery"}), `areas is "nursery", and may be one of kitchen, hall`},
		{"everywhere", clean([]string{}), "areas names nothing"},
		{"a number for an area", clean([]any{1.0}), `areas is "1"`},
	} {
		cfg := settings.DefaultConfig()
		cfg.Devices = map[string]settings.Limits{"lamp": limits}
		g := newPolicy(cfg)
		_, err := g.Check(c.plan)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		t.Run(c.name, func(t *testing.T) { wantRejection(t, err, "range", c.want) })
	}
}

func TestDefaultRangeAppliesToAll(t *testing.T) {
	cfg := settings.DefaultConfig()
	cfg.Defaults.Range = settings.Ranges{capabilities.SetSwitch: {"for": {Max: new(60.0)}}}
	cfg.Devices = map[string]settings.Limits{"lamp": {}, "heater": {Range: settings.Ranges{capabilities.Clean: {"areas": {Only: []string{"x"}}}}}}
	g := newPolicy(cfg)
	for _, name := range []string{"lamp", "heater", "nobody-has-named-it"} {
		p := switchPlan(true, time.Hour)
		p.Device = name
		_, err := g.Check(p)
		wantRejection(t, err, "range", "for is 3600, and may be at most 60")
	}
	if err := (settings.Config{Devices: map[string]settings.Limits{"lamp": {Range: settings.Ranges{"swich": {}}}}}).Validate(); err == nil || !strings.Contains(err.Error(), "devices.lamp.range.swich: unknown command; use take-photo") {
		t.Errorf("%v", err)
	}
}
