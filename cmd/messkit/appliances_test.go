package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// "start" and "turn on" with an appliance become start-appliance. The planner asks about an
// amount ("two coffees"), and about a repetition that needs a person to prepare the appliance.
func TestApplianceRequests(t *testing.T) {
	r := simulatedInterpreter(t)
	for _, c := range []struct{ text, outcome, capability, reason string }{
		{"start the coffee machine", "plan", "start-appliance", "turn on the coffee machine"},
		{"start the rice cooker", "plan", "start-appliance", "turn on the kitchen rice cooker"},
		{"run the washing machine", "plan", "start-appliance", "turn on the washing machine"},
		{"commence the coffee maker", "plan", "start-appliance", "turn on the coffee machine"},
		{"start the kettle and the rice cooker", "plan", "start-appliance", "turn on the kitchen kettle, turn on the kitchen rice cooker"},
		{"start the coffee machine for ten minutes", "plan", "start-appliance", "for 10 minutes"},
		{"turn on the coffee machine", "plan", "start-appliance", "turn on the coffee machine"},
		{"activate the rice cooker", "plan", "start-appliance", "turn on the kitchen rice cooker"},
		{"start the bedroom fan", "plan", "switch-on", "turn on the bedroom fan"},
		{"stop the coffee machine", "plan", "switch-off", "turn off the coffee machine"},
		{"stop the vacuum", "plan", "stop-vacuum", "stop the vacuum"},
		{"stop the garage door", "plan", "stop-opening", "stop the garage door"},

		{"two coffees please", "question", "start-appliance", "and not the number 2: shall I turn on the coffee machine?"},
		{"make two coffees", "question", "start-appliance", "and not the number 2: shall I"},
		{"make twenty cups of coffee", "question", "start-appliance", "and not the number 20: shall I"},
		{"make coffee for two people", "question", "start-appliance", "and not the number 2: shall I"},
		{"two espressos please", "question", "start-appliance", "the machine cannot choose the drink, and the filling of the machine sets how much it makes, and not the number 2"},
		{"cook two cups of rice", "question", "start-appliance", "and not the number 2: shall I turn on the kitchen rice cooker?"},
		{"make coffee twice", "question", "start-appliance", `"twice": after that a person must prepare the coffee machine`},
		{"start the rice cooker three times", "question", "start-appliance", `"three times": after that`},
		{"turn on the coffee machine twice", "question", "start-appliance", `"twice": after that a person must prepare the coffee machine`},
		{"coffee please", "question", "start-appliance", "the text does not say what to do"},

		{"cook the rice", "question", "start-appliance", "the text does not name the device: shall I turn on the kitchen rice cooker?"},
		{"cook rice in the rice cooker", "plan", "start-appliance", "turn on the kitchen rice cooker"},
		{"do the laundry", "question", "start-appliance", "turn on the washing machine?"},
		{"boil some water", "question", "start-appliance", "turn on the kitchen kettle?"},
		{"do the dishes", "refusal", "start-appliance", "there is no dishwasher here"},

		{"tell me when the rice is done", "plan", "watch-appliance", "watch the kitchen rice cooker until it is done"},
		{"tell me when the water boils", "plan", "watch-appliance", "watch the kitchen kettle until it is done"},
		{"start the rice cooker and tell me when it is done", "plan", "several", "turn on the kitchen rice cooker, watch the kitchen rice cooker until it is done"},
	} {
		p := requests.PlannedOf(c.text, r.Resolve(mess.Request{Intent: c.text}))
		if p.Outcome != c.outcome || p.Capability != c.capability || !strings.Contains(p.Reason, c.reason) {
			t.Errorf("%q: %s %s: %s; want %s %s: ...%s...", c.text, p.Outcome, p.Capability, p.Reason, c.outcome, c.capability, c.reason)
		}
	}
}

// More requests in the simulated home: each suggestion of its documentation has a case.
func TestSimulatedHomeAnswers(t *testing.T) {
	r := simulatedInterpreter(t)
	for _, c := range []struct{ text, outcome, capability, reason string }{
		{"turn on the light in the yard", "plan", "switch-on", "turn on the garden light"},
		{"turn on the lamp in the children's bedroom", "plan", "switch-on", "turn on the kids room light"},
		{"close the blind in the kid's room", "plan", "close", "close the kids room blind"},
		{"turns my son's room lights off", "question", "switch-off", "the text may report an event, or be a name: shall I turn off"},
		{"pulse the pump for two seconds", "plan", "pulse", "pulse the garden pump for 2 seconds"},
		{"water the garden for ten minutes", "question", "switch-on", "shall I turn on the garden pump for 10 minutes?"},
		{"is the garden dry?", "plan", "read-sensor", "read the moisture from the garden sensor"},
		{"how warm is it in the garden", "plan", "read-sensor", "read the temperature from the garden sensor"},
		{"how are the plants", "plan", "read-sensor", "read the moisture from the plant sensor"},
		{"print the benchy", "plan", "print-start", "print benchy on the printer"},
		{"print", "question", "print-start", "which file: benchy or vase?"},
		{"print benchy twice", "question", "print-start", `"twice": after that a person must prepare the printer`},
		{"pause the print", "plan", "print-pause", "pause the print on the printer"},
		{"cancel the print", "plan", "print-cancel", "cancel the print on the printer"},
		{"how is the printer", "plan", "print-status", "ask the printer how its print stands"},
		{"check the printer", "plan", "print-status", "ask the printer how its print stands"},
		{"tell me when the print is done", "plan", "watch-appliance", "watch the printer until it is done"},
		{"turn the camera mount to the street", "plan", "move-servo", "to street (120 degrees)"},
		{"turn the camera mount to 200 degrees", "refusal", "move-servo", "it turns from 20 to 160 degrees"},
		{"drive the rover forward for 3 seconds", "plan", "drive-forward", "forward for 3 seconds"},
		{"stop the rover", "refusal", "switch-off", "the rover stops by itself when its time ends"},
		{"is the stove on?", "plan", "read-switch", "look whether the stove is on"},
		{"is someone at the door", "plan", "check-visual", "look for someone at the door with the porch camera"},
		{"who is at the door", "plan", "look", "look at the door with the porch camera"},
		{"is there a package at the door", "plan", "check-visual", "look for package at the door"},
		{"is the cat in the living room", "plan", "check-visual", "with the living room camera"},
		{"check the pets", "question", "check-visual", "which one: fridge camera, kitchen camera, living room camera or porch camera?"},
		{"do we have milk", "plan", "check-visual", "look for milk at the fridge with the fridge camera"},
		{"how much power does the smart plug use", "plan", "read-sensor", "read the power from the smart plug"},
		{"how many watts is the stove drawing", "plan", "read-sensor", "read the power from the stove"},
		{"how much power does the desk lamp use?", "refusal", "read-sensor", "the office light does not tell its power; these may: coffee machine"},
		{"how much power does the fan use", "refusal", "read-sensor", "the bedroom fan does not tell its power"},
		{"turn off all the lights", "plan", "switch-off", "turn off the garden light"},
	} {
		p := requests.PlannedOf(c.text, r.Resolve(mess.Request{Intent: c.text}))
		if p.Outcome != c.outcome || p.Capability != c.capability || !strings.Contains(p.Reason, c.reason) {
			t.Errorf("%q: %s %s: %s; want %s %s: ...%s...", c.text, p.Outcome, p.Capability, p.Reason, c.outcome, c.capability, c.reason)
		}
	}
}
