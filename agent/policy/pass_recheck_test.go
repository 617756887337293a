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

// A process that stood still between two acts asks again before the next.
func TestPermissionExpiresBetweenActs(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		var asked int
		var no error
		pass := begin(t, g, switchPlan(true, 0))
		defer pass.End()
		pass.RequirePermission(time.Now(), func(context.Context) (time.Time, error) { asked++; return time.Now(), no })
		do := func(on bool, want int) {
			t.Helper()
			if err := pass.Switch(t.Context(), l, on); err != nil || asked != want {
				t.Errorf("%v, asked %d times, want %d", err, asked, want)
			}
		}
		do(true, 0)
		advance(2 * time.Second)
		do(false, 0)
		advance(time.Millisecond)
		do(true, 1)
		advance(time.Hour)
		do(false, 2)
		advance(time.Hour)
		no = errors.New("it was cancelled")
		wantRejection(t, pass.Switch(t.Context(), l, true), "permission", "2s", "it was cancelled")
		if want := "on 0s, off 2s, on 2.001s, off 1h0m2.001s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
	})
}

// A permission that arrives too late does not count.
func TestLatePermissionIsRejected(t *testing.T) {
	for _, on := range []bool{true, false} {
		oldPermission(t, on)
	}
}

func oldPermission(t *testing.T, on bool) {
	t.Helper()
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		pass := begin(t, g, switchPlan(on, 0))
		defer pass.End()
		pass.RequirePermission(time.Now().Add(-time.Hour), func(context.Context) (time.Time, error) {
			asked := time.Now()
			time.Sleep(3 * time.Second) // fake time
			return asked, nil
		})
		wantRejection(t, pass.Switch(t.Context(), l, on), "fresh")
		if l.history() != "" {
			t.Errorf("the lamp: %s", l.history())
		}
	})
}

// An act that the policy rejects at the last check does not happen, and leaves no pending
// switch-off.
func TestRejectedActLeavesNoPendingOff(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Minute}, func(t *testing.T, g *policy.Policy, l *lamp) {
		pass := begin(t, g, switchPlan(true, 0))
		g.Stop("the cat")
		wantRejection(t, pass.Switch(t.Context(), l, true), "stop")
		pass.End()
		advance(time.Hour)
		if l.history() != "" {
			t.Errorf("the lamp: %s", l.history())
		}
	})
}

func TestConfirmationIsForOnePlan(t *testing.T) {
	g := newPolicy(settings.DefaultConfig())
	move := capabilities.Plan{Device: "robot", Command: capabilities.Dock, Risk: capabilities.RiskMotion, Effect: capabilities.Idempotent}
	other := move
	other.Device = "mower"
	for _, c := range []struct {
		name, confirmed, want string
	}{
		{"none", "", "it needs a confirmation of the operator first"},
		{"to another plan", other.Digest(), "is for another plan"},
		{"to this one", move.Digest(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pass, err := g.Admit(t.Context(), policy.Order{Plan: move, Confirmed: c.confirmed}, nil)
			if c.want != "" {
				wantRejection(t, err, "confirm", c.want)
			} else if err != nil {
				t.Error(err)
			} else {
				pass.End()
			}
		})
	}
}
