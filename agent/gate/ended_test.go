package gate_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
)

// What waits behind something is not begun once a task has stopped that; off is, and
// so is what is asked for after it.
func TestNothingSetsOutBehindAStop(t *testing.T) {
	inHouse(t, gate.Device{}, func(t *testing.T, g *gate.Gate, l *lamp) {
		first := enter(t, g, switchPlan(true, 0))
		results := map[string]chan error{"on": make(chan error, 1), "off": make(chan error, 1)}
		for what, result := range results {
			go func() {
				pass, err := g.Enter(t.Context(), switchPlan(what == "on", 0), nil)
				if err == nil {
					pass.Leave()
				}
				result <- err
			}()
		}
		after(time.Second)
		stop := enter(t, g, capabilities.Plan{Device: "lamp", Command: capabilities.Stop, Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent})
		stop.Leave()
		first.Leave()
		refusal(t, <-results["on"], "ended", "was stopped, cancelled or switched off while this waited", "ask again")
		if err := <-results["off"]; err != nil {
			t.Errorf("off: %v", err)
		}
		enter(t, g, switchPlan(true, 0)).Leave()
	})
}

// A print never waits for what its printer is at: nobody has cleared the bed by then.
func TestAPrintDoesNotWait(t *testing.T) {
	inHouse(t, gate.Device{}, func(t *testing.T, g *gate.Gate, _ *lamp) {
		print := capabilities.Plan{Device: "lamp", Command: capabilities.Print, Risk: capabilities.RiskComfort, Effect: capabilities.Once, Summary: "print the vase"}
		first := enter(t, g, print)
		_, err := g.Enter(t.Context(), print, nil)
		refusal(t, err, "busy", "one thing at a time, and now: print the vase")
		first.Leave()
		enter(t, g, print).Leave()
	})
}

// Off does not wait for what only rests, and that is not begun behind it.
func TestOffOvertakesWhatRests(t *testing.T) {
	inHouse(t, gate.Device{MinInterval: time.Minute}, func(t *testing.T, g *gate.Gate, l *lamp) {
		turn(t, g, l, true, 0)
		results := make(chan error, 2)
		for range 2 {
			go func() {
				pass, err := g.Enter(t.Context(), switchPlan(true, 0), nil)
				if err == nil {
					pass.Leave()
				}
				results <- err
			}()
		}
		after(time.Second)
		turn(t, g, l, false, 0)
		if want := "on 0s, off 1s"; l.history() != want {
			t.Errorf("%q, want %q", l.history(), want)
		}
		for range 2 {
			refusal(t, <-results, "ended", "switched off while this waited")
		}
		after(time.Minute)
		turn(t, g, l, true, 0)
	})
}
