package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// pausableDevice has an activity that another request may pause, resume and stop.
type pausableDevice struct {
	gobot.Device
	did []string
}

func (m *pausableDevice) Pause(context.Context) error { m.did = append(m.did, "pause"); return nil }

func (m *pausableDevice) Resume(context.Context) error { m.did = append(m.did, "resume"); return nil }

func (m *pausableDevice) Stop(context.Context) (string, error) {
	m.did = append(m.did, "stop")
	return "chips", nil
}

func steering(c capabilities.Command, risk capabilities.Risk) capabilities.Plan {
	return capabilities.Plan{Device: "mill", Command: c, Risk: risk, Effect: capabilities.Idempotent, Summary: string(c)}
}

// A plan that steers a running task does not wait for it. No safety rule delays a pause or
// stop, and neither needs a confirmation; resuming is subject to both.
func TestSteeringDoesNotWaitForTask(t *testing.T) {
	cfg := settings.DefaultConfig()
	cfg.Devices = map[string]settings.Limits{"mill": {Busy: settings.BusyReject}}
	disarmed := map[capabilities.Risk]string{}
	g := policy.New(cfg, time.Now, slog.New(slog.DiscardHandler), policy.WithLocalDecisions(func() policy.LocalDecisions { return policy.LocalDecisions{Disarmed: disarmed} }))
	m := &pausableDevice{}
	task, err := g.Admit(t.Context(), policy.Order{Plan: steering(capabilities.CleanSpot, capabilities.RiskComfort)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer task.End()
	disarmed[capabilities.RiskMotion] = "nobody knows"
	for _, c := range []capabilities.Command{capabilities.Pause, capabilities.Stop} {
		p, err := g.Admit(t.Context(), policy.Order{Plan: steering(c, capabilities.RiskMotion)}, nil)
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if c == capabilities.Pause {
			err = p.Pause(t.Context(), m)
		} else if left, serr := p.Stop(t.Context(), m); serr != nil || left != "chips" {
			t.Errorf("%q, %v", left, serr)
		}
		if err != nil {
			t.Error(err)
		}
		p.End()
	}
	for risk, rule := range map[capabilities.Risk]string{capabilities.RiskMotion: "disarmed", capabilities.RiskAccess: "confirm"} {
		_, err := g.Admit(t.Context(), policy.Order{Plan: steering(capabilities.Resume, risk)}, nil)
		if no, ok := errors.AsType[*policy.Rejection](err); !ok || no.Rule != rule {
			t.Errorf("%s: %v", risk, err)
		}
	}
	_, err = g.Admit(t.Context(), policy.Order{Plan: steering(capabilities.Stop, capabilities.RiskIrreversible)}, nil)
	if no, ok := errors.AsType[*policy.Rejection](err); !ok || no.Rule != "confirm" {
		t.Error(err)
	}
	if _, err := g.Admit(t.Context(), policy.Order{Plan: steering(capabilities.CleanSpot, capabilities.RiskComfort)}, nil); err == nil {
		t.Error("a second task passes beside the first")
	}
	p, err := g.Admit(t.Context(), policy.Order{Plan: steering(capabilities.Pause, capabilities.RiskComfort)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Resume(t.Context(), m); err == nil {
		t.Error("a plan to pause resumes")
	}
	if len(m.did) != 2 {
		t.Errorf("%q", m.did)
	}
}
