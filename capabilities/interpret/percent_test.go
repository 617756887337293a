package interpret_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// A percent sign behind a number is a word. A share of the lights is no level.
func TestPercentSigns(t *testing.T) {
	r := appliances()
	for _, text := range []string{"set the hall light to 40%", "hall light 40 %", "dim the hall light to 40%.", "set the hall light to 40 percent"} {
		out := r.Resolve(ask(text))
		if out.Plan == nil || out.Plan.Device != "hall-light" {
			t.Errorf("%q: %+v, want a plan for the hall light", text, out)
			continue
		}
		if level, _ := out.Plan.Args.Get("level"); level != 40.0 {
			t.Errorf("%q: level %v, want 40", text, level)
		}
	}
	for _, text := range []string{"turn on 50% of the lights", "turn on 50 percent of the lights", "turn on the hall light %", "set the hall light to %40", "set the hall light to 4%0"} {
		if out := r.Resolve(ask(text)); out.Plan != nil {
			t.Errorf("%q would %s", text, out.Plan.Summary)
		}
	}
}

// A word behind an article is a device, and no order.
func TestNounBehindArticleIsNoOrder(t *testing.T) {
	r := appliances()
	for text, want := range map[string]capabilities.Command{
		"tell the vacuum to go home": capabilities.Dock, "make the vacuum go home": capabilities.Dock, "have the vacuum return to its base": capabilities.Dock,
		"park the vacuum": capabilities.Dock, "I want the vacuum docked": capabilities.Dock, "let the vacuum go back to its charger": capabilities.Dock,
		"have the vacuum clean the hall": capabilities.Clean, "start the vacuum": capabilities.Clean, "vacuum the hall": capabilities.Clean,
	} {
		if out := r.Resolve(ask(text)); out.Plan == nil || out.Plan.Command != want {
			t.Errorf("%q: %+v, want %s", text, out, want)
		}
	}
	for _, text := range []string{"the vacuum", "wash the vacuum", "sell the vacuum", "where is the vacuum going"} {
		if out := r.Resolve(ask(text)); out.Plan != nil && out.Plan.Actuates() || out.Question != nil && out.Explain.Capability == "vacuum-floor" {
			t.Errorf("%q: plan %v, question %v; want neither", text, out.Plan, out.Question)
		}
	}
}

// "Off after ten minutes" behind "on" is one step with a duration.
func TestOffAfterOnIsADuration(t *testing.T) {
	r := appliances()
	for _, text := range []string{
		"turn on the heater and turn it off after ten minutes", "turn on the heater, then after ten minutes turn it off",
		"turn on the heater and in ten minutes turn off the heater", "turn on the heater, wait ten minutes and turn it off",
	} {
		out := r.Resolve(ask(text))
		if out.Plan == nil || len(out.Plan.Steps) > 0 || out.Plan.For != 10*time.Minute || out.Plan.Device != "heater" {
			t.Errorf("%q: %+v, want the heater on for ten minutes", text, out)
		}
	}
	for _, text := range []string{"turn on the heater and turn on the tv in ten minutes", "turn off the heater and turn it on after ten minutes"} {
		if out := r.Resolve(ask(text)); out.Plan != nil {
			t.Errorf("%q has the plan %s, want none: the order that waits is unclear", text, out.Plan.Summary)
		}
	}
}
