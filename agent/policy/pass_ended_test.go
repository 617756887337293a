package policy_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// After a task has stopped a device, the waiting tasks do not begin; switching off does, and so
// do later requests.
func TestNoTaskBeginsAfterStop(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		first := begin(t, g, switchPlan(true, 0))
		results := map[string]chan error{"on": make(chan error, 1), "off": make(chan error, 1)}
		for what, result := range results {
			go func() {
				pass, err := g.Admit(t.Context(), policy.Order{Plan: switchPlan(what == "on", 0)}, nil)
				if err == nil {
					pass.End()
				}
				result <- err
			}()
		}
		advance(time.Second)
		stop := begin(t, g, capabilities.Plan{Device: "lamp", Command: capabilities.Stop, Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent})
		stop.End()
		first.End()
		wantRejection(t, <-results["on"], "ended", "another request stopped, cancelled or switched off the device while this one waited", "ask again")
		if err := <-results["off"]; err != nil {
			t.Errorf("off: %v", err)
		}
		begin(t, g, switchPlan(true, 0)).End()
	})
}

// A print never waits for its printer: the bed would still hold the last print.
func TestPrintDoesNotWait(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, _ *lamp) {
		print := capabilities.Plan{Device: "lamp", Command: capabilities.Print, Risk: capabilities.RiskComfort, Effect: capabilities.Once, Summary: "print the vase"}
		first := begin(t, g, print)
		_, err := g.Admit(t.Context(), policy.Order{Plan: print}, nil)
		wantRejection(t, err, "busy", "one task at a time, and now: print the vase")
		first.End()
		begin(t, g, print).End()
	})
}

// Switching off overtakes a task that waits for the minimum interval, and that task does not
// begin.
func TestSwitchOffOvertakesWaitingTask(t *testing.T) {
	withLamp(t, settings.Limits{MinInterval: time.Minute}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 0)
		results := make(chan error, 2)
		for range 2 {
			go func() {
				pass, err := g.Admit(t.Context(), policy.Order{Plan: switchPlan(true, 0)}, nil)
				if err == nil {
					pass.End()
				}
				results <- err
			}()
		}
		advance(time.Second)
		switchLamp(t, g, l, false, 0)
		if want := "on 0s, off 1s"; l.history() != want {
			t.Errorf("%q, want %q", l.history(), want)
		}
		for range 2 {
			wantRejection(t, <-results, "ended", "switched off the device while this one waited")
		}
		advance(time.Minute)
		switchLamp(t, g, l, true, 0)
	})
}
