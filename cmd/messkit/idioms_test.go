package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// The planner understands idioms. It asks about an indirect order, an alternative or a misspelled
// word, and the question contains the plan.
func TestIdiomsAreUnderstood(t *testing.T) {
	r := simulatedInterpreter(t)
	for _, c := range []struct{ text, outcome, capability, reason string }{
		{"it's too bright here", "question", "dim", "which one: balcony light"},
		{"it's too bright in the kitchen", "question", "dim", "the text does not say what to do: shall I make the kitchen light 20 percent darker?"},
		{"the kitchen is too bright", "question", "dim", "the text does not say what to do"},
		{"it's too dim in the hall", "question", "brighten", "the text does not say what to do: shall I make the hall light 20 percent brighter?"},
		{"it's too dark in the hall", "question", "brighten", "which is meant: make the hall light 20 percent brighter or turn on the hall light?"},
		{"it's cold in the bathroom", "question", "switch-on", "the text does not say what to do: shall I turn on the bathroom heater?"},
		{"it's stuffy in the bedroom", "question", "switch-on", "the text does not say what to do: shall I turn on the bedroom fan?"},
		{"let there be light in the kitchen", "question", "switch-on", "the text does not say what to do: shall I turn on the kitchen light?"},
		{"turn the hall light back on", "plan", "switch-on", "turn on the hall light"},
		{"anyone at the door", "plan", "check-visual", "look for anyone at the door with the porch camera"},

		{"put the kettle on", "plan", "start-appliance", "turn on the kitchen kettle"},
		{"start the kettle", "plan", "start-appliance", "turn on the kitchen kettle"},
		{"switch on the kettle for ten minutes", "plan", "start-appliance", "turn on the kitchen kettle for 10 minutes"},
		{"turn on the kettle and the hall light", "plan", "several", "turn on the hall light, turn on the kitchen kettle"},

		{"turn on the kitchen or the hall light", "question", "switch-on", "which of the two: turn on the kitchen light or turn on the hall light?"},
		{"vacuum the kitchen or the living room", "question", "vacuum-floor", "which of the two: vacuum the kitchen or vacuum the living room?"},
		{"make the hall light red or blue", "question", "set-colour", "which of the two: make the hall light red or make the hall light blue?"},
		{"open the bedroom blind or turn on the bedroom light", "question", "open", "which of the two: open the bedroom blind or turn on the bedroom light?"},
		{"turn the kitchen light on or off", "question", "switch-on", "which of the two: turn on the kitchen light or turn off the kitchen light?"},
		{"do not turn on the kitchen or the hall light", "refusal", "", "excludes something"},
		{"is the kitchen or the hall light on", "plan", "read-switch", "look whether the kitchen light is on, look whether the hall light is on"},

		{"trun off the kichen lihgt", "question", "switch-off", `not understood: "trun", "kichen", "lihgt"; with "turn", "kitchen", "light" instead, shall I turn off the kitchen light?`},
		{"trun of teh kichen lihgt", "question", "switch-on", `by "turn of the kitchen light", is this meant: turn on the kitchen light, turn off the kitchen light or none of these?`},
		{"tunr on the heatr", "question", "switch-on", `with "turn", "heater" instead, which one: bathroom heater or hall heating?`},
		{"unlcok the frnt door", "question", "unlock", `with "unlock", "front" instead, shall I unlock the front door lock?`},
		{"nlock the front door", "refusal", "", ""}, // either locked or unlocked
	} {
		p := requests.PlannedOf(c.text, r.Resolve(mess.Request{Intent: c.text}))
		if p.Outcome != c.outcome || c.capability != "" && p.Capability != c.capability || !strings.Contains(p.Reason, c.reason) {
			t.Errorf("%q: %s %s: %s; want %s %s: ...%s...", c.text, p.Outcome, p.Capability, p.Reason, c.outcome, c.capability, c.reason)
		}
	}
}
