package policy_test

import (
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

func TestLockoutAndDisarming(t *testing.T) {
	var people policy.LocalDecisions
	g := newPolicy(settings.DefaultConfig(), policy.WithLocalDecisions(func() policy.LocalDecisions { return people }))
	plan := func(device string, risk capabilities.Risk, on bool) capabilities.Plan {
		p := switchPlan(on, 0)
		p.Device, p.Risk = device, risk
		return p
	}
	disarmed := map[capabilities.Risk]string{capabilities.RiskMotion: "it died"}
	for _, c := range []struct {
		name   string
		people policy.LocalDecisions
		plan   capabilities.Plan
		rule   string // "" if the policy allows it
		words  string
	}{
		{"no decision", policy.LocalDecisions{}, plan("lamp", capabilities.RiskComfort, true), "", ""},
		{"locked", policy.LocalDecisions{LockedOut: map[string]string{"lamp": "paint is wet"}}, plan("lamp", capabilities.RiskComfort, true), "locked", "(paint is wet); to release it, run on the host: messkit unlock lamp"},
		{"locked, off as well", policy.LocalDecisions{LockedOut: map[string]string{"lamp": ""}}, plan("lamp", capabilities.RiskComfort, false), "locked", "a local operator has locked it out; to release it, run on the host: messkit unlock lamp"},
		{"another is locked", policy.LocalDecisions{LockedOut: map[string]string{"fan": ""}}, plan("lamp", capabilities.RiskComfort, true), "", ""},
		{"unknown", policy.LocalDecisions{Unknown: "a torn file"}, plan("lamp", capabilities.RiskComfort, true), "locked", "(a torn file)"},
		{"a disk that takes nothing", policy.LocalDecisions{Blocked: "no space"}, plan("lamp", capabilities.RiskComfort, true), "locked", "no device acts now: no space; check the disk"},
		{"disarmed", policy.LocalDecisions{Disarmed: disarmed}, plan("saw", capabilities.RiskMotion, true), "disarmed", "risk class motion is disarmed (it died); check the devices, and then run on the host: messkit arm motion"},
		{"another class", policy.LocalDecisions{Disarmed: disarmed}, plan("lamp", capabilities.RiskComfort, true), "", ""},
		{"off", policy.LocalDecisions{Disarmed: disarmed}, plan("saw", capabilities.RiskMotion, false), "", ""},
		{"off may open a lock", policy.LocalDecisions{Disarmed: map[capabilities.Risk]string{capabilities.RiskAccess: "x"}}, plan("door", capabilities.RiskAccess, false), "disarmed", "access"},
		{"an unknown class", policy.LocalDecisions{Disarmed: disarmed}, plan("thing", "new-risk", true), "disarmed", "risk class motion is disarmed (it died)"},
		{"off of such a class", policy.LocalDecisions{Disarmed: disarmed}, plan("thing", "new-risk", false), "disarmed", "motion"},
		{"this one is armed", policy.LocalDecisions{Disarmed: disarmed, ArmedDevices: map[string]bool{"saw": true}}, plan("saw", capabilities.RiskMotion, true), "", ""},
		{"this one is not", policy.LocalDecisions{DisarmedDevices: map[string]string{"lamp": "smells"}}, plan("lamp", capabilities.RiskComfort, true), "disarmed", "it is disarmed (smells); check the devices, and then run on the host: messkit arm lamp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			people = c.people
			_, err := g.Check(c.plan)
			if c.rule == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantRejection(t, err, c.rule, c.words)
			_, err = g.Admit(t.Context(), policy.Order{Plan: c.plan, Confirmed: c.plan.Digest()}, nil)
			wantRejection(t, err, c.rule, c.words)
			if _, err := g.Check(capabilities.Plan{Device: c.plan.Device, Command: capabilities.ReadState, Effect: capabilities.Query}); err != nil {
				t.Errorf("looking: %v", err)
			}
		})
	}
}

// A lockout between admission and act prevents the act.
func TestLockoutBeforeAct(t *testing.T) {
	var people policy.LocalDecisions
	g := newPolicy(settings.DefaultConfig(), policy.WithLocalDecisions(func() policy.LocalDecisions { return people }))
	l := &lamp{}
	pass := begin(t, g, switchPlan(true, 0))
	defer pass.End()
	people.LockedOut = map[string]string{"lamp": "wait"}
	wantRejection(t, pass.Switch(t.Context(), l, true), "locked", "wait")
}

// Without a set clock, quiet hours apply; a clock that jumps changes no interval.
func TestQuietHoursNeedClock(t *testing.T) {
	quiet, err := settings.ParseHours("22:00-07:00")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(1970, 1, 1, 12, 0, 0, 0, time.UTC)
	unset := errors.New("it is 1970 here")
	cfg := settings.DefaultConfig()
	cfg.Defaults = settings.Limits{QuietHours: quiet, MinInterval: time.Hour, Busy: settings.BusyReject}
	g := newPolicy(cfg, policy.WithWallClock(func() (time.Time, error) { return noon, unset }))
	_, err = g.Check(switchPlan(true, 0))
	wantRejection(t, err, "quiet_hours", "22:00-07:00", "the time of day is unknown: it is 1970 here; set the clock")
	switchLamp(t, g, &lamp{}, false, 0)
	unset = nil
	_, err = g.Check(switchPlan(true, 0))
	wantRejection(t, err, "min_interval")
	noon = noon.Add(40 * 365 * 24 * time.Hour) // now the clock has a time
	_, err = g.Check(switchPlan(true, 0))
	wantRejection(t, err, "min_interval")
	noon = noon.Add(12 * time.Hour)
	_, err = g.Check(switchPlan(true, 0))
	wantRejection(t, err, "quiet_hours", "it is 00:00")
}
