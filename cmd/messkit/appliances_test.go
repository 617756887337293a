package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// What is started is an appliance, what is turned on is switched; how much one makes,
// and twice what somebody must fill, is asked about.
func TestAppliances(t *testing.T) {
	r := simulated(t)
	for _, c := range []struct{ text, outcome, capability, says string }{
		{"start the coffee machine", "plan", "start-appliance", "turn on the coffee machine"},
		{"start the rice cooker", "plan", "start-appliance", "turn on the kitchen rice cooker"},
		{"run the washing machine", "plan", "start-appliance", "turn on the washing machine"},
		{"commence the coffee maker", "plan", "start-appliance", "turn on the coffee machine"},
		{"start the kettle and the rice cooker", "plan", "start-appliance", "turn on the kitchen kettle, turn on the kitchen rice cooker"},
		{"start the coffee machine for ten minutes", "plan", "start-appliance", "for 10 minutes"},
		{"turn on the coffee machine", "plan", "switch-on", "turn on the coffee machine"},
		{"activate the rice cooker", "plan", "switch-on", "turn on the kitchen rice cooker"},
		{"start the bedroom fan", "plan", "switch-on", "turn on the bedroom fan"},
		{"stop the coffee machine", "plan", "switch-off", "turn off the coffee machine"},
		{"stop the vacuum", "plan", "stop-vacuum", "stop the vacuum"},
		{"stop the garage door", "plan", "stop-opening", "stop the garage door"},

		{"two coffees please", "question", "start-appliance", "and not 2: shall I turn on the coffee machine?"},
		{"make two coffees", "question", "start-appliance", "and not 2: shall I"},
		{"make twenty cups of coffee", "question", "start-appliance", "and not 20: shall I"},
		{"make coffee for two people", "question", "start-appliance", "and not 2: shall I"},
		{"two espressos please", "question", "start-appliance", "it cannot choose the drink, and how much it makes is what it was filled with, and not 2"},
		{"cook two cups of rice", "question", "start-appliance", "and not 2: shall I turn on the kitchen rice cooker?"},
		{"make coffee twice", "question", "start-appliance", `"twice": when that is done somebody must see to the coffee machine`},
		{"start the rice cooker three times", "question", "start-appliance", `"three times": when that is done`},
		{"turn on the coffee machine twice", "refusal", "switch-on", "twice is as once"},
		{"coffee please", "question", "start-appliance", "it was not said what to do"},

		{"cook the rice", "question", "start-appliance", "it was not said with what: shall I turn on the kitchen rice cooker?"},
		{"cook rice in the rice cooker", "plan", "start-appliance", "turn on the kitchen rice cooker"},
		{"do the laundry", "question", "start-appliance", "turn on the washing machine?"},
		{"boil some water", "question", "start-appliance", "turn on the kitchen kettle?"},
		{"do the dishes", "refusal", "start-appliance", "there is no dishwasher here"},

		{"tell me when the rice is done", "plan", "watch-appliance", "watch the kitchen rice cooker until it is done"},
		{"tell me when the water boils", "plan", "watch-appliance", "watch the kitchen kettle until it is done"},
		{"start the rice cooker and tell me when it is done", "plan", "several", "turn on the kitchen rice cooker, watch the kitchen rice cooker until it is done"},
	} {
		p := plannedOf(c.text, r.Resolve(mess.Request{Intent: c.text}))
		if p.Outcome != c.outcome || p.Capability != c.capability || !strings.Contains(p.Reason, c.says) {
			t.Errorf("%q: %s %s: %s; want %s %s: ...%s...", c.text, p.Outcome, p.Capability, p.Reason, c.outcome, c.capability, c.says)
		}
	}
}
