package policy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

func pulsePlan(d time.Duration) capabilities.Plan {
	p := switchPlan(true, d)
	p.Effect = capabilities.Once
	return p
}

func pulse(t *testing.T, g *policy.Policy, l *lamp, d time.Duration) {
	t.Helper()
	pass, err := g.Admit(t.Context(), policy.Order{Plan: pulsePlan(d)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pass.End()
	if err := pass.Switch(t.Context(), l, true); err != nil {
		t.Fatal(err)
	}
}

// Two pulses remain two, from any requesters at any times.
func TestPulsesStaySeparate(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: 12 * time.Second}, func(t *testing.T, g *policy.Policy, l *lamp) {
		pulse(t, g, l, 10*time.Second)
		advance(4 * time.Second)
		pulse(t, g, l, 5*time.Second)
		advance(time.Minute)
		if want := "on 0s, off 10s, on 10s, off 15s"; l.history() != want && l.history() != "on 0s, off 10s, on 10.05s, off 15.05s" {
			t.Errorf("%s, want %s, or 50ms later", l.history(), want)
		}
	})
}

// A pulse cannot begin on a device that stays on; a waiting requester may cancel.
func TestPulseWaitsForOff(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		pulse(t, g, l, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var reason string
		_, err := g.Admit(ctx, policy.Order{Plan: pulsePlan(time.Second)}, func(s string) { reason = s })
		if !errors.Is(err, context.DeadlineExceeded) || reason != "lamp is on for a time, and a pulse begins when it is off" {
			t.Errorf("%v, waited because %q", err, reason)
		}
		l.fails(2)
		_, err = g.Admit(t.Context(), policy.Order{Plan: pulsePlan(time.Second)}, nil)
		wantRejection(t, err, "pulse", "its time is over, but the device has not confirmed that it is off")
		advance(time.Minute)
		pulse(t, g, l, time.Second)
	})
}

func TestInvalidPulseIsRejected(t *testing.T) {
	withLamp(t, settings.Limits{Busy: settings.BusyReject}, func(t *testing.T, g *policy.Policy, l *lamp) {
		pulse(t, g, l, 10*time.Second)
		_, err := g.Admit(t.Context(), policy.Order{Plan: pulsePlan(time.Second)}, nil)
		wantRejection(t, err, "pulse", "begins when it is off; ask again in 10s")
	})
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 0)
		_, err := g.Admit(t.Context(), policy.Order{Plan: pulsePlan(time.Second)}, nil)
		wantRejection(t, err, "pulse", "it is on, and a pulse would end with switching it off")
		switchLamp(t, g, l, true, 30*time.Minute)
		_, err = g.Admit(t.Context(), policy.Order{Plan: pulsePlan(time.Second)}, nil)
		wantRejection(t, err, "pulse", "it is on for 30m0s more")
		switchLamp(t, g, l, false, 0)
		pulse(t, g, l, time.Second)
	})
}

// A later command changes the time of a lamp that is on for a time.
func TestDurationMayChange(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 10*time.Second)
		advance(4 * time.Second)
		switchLamp(t, g, l, true, 10*time.Second)
		advance(time.Minute)
		if want := "on 0s, on 4s, off 14s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
	})
}
