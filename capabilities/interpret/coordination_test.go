package interpret_test

import (
	"strings"
	"testing"
)

// The plan does the order with each device of a list, or nothing happens.
func TestEachDeviceOfAListActsOrNone(t *testing.T) {
	r := lamps()
	for intent, want := range map[string]string{
		"turn on the hall light and kitchen light off":                 "turn on the hall light, turn off the kitchen light",
		"bedroom light full, hall light off":                           "set the bedroom light to 100 percent, turn off the hall light",
		"hall light on, kitchen light off":                             "turn on the hall light, turn off the kitchen light",
		"hall light on, kitchen light off, porch light on":             "turn on the hall light, turn off the kitchen light, turn on the porch light",
		"vacuum the kitchen, hall light off":                           "vacuum the kitchen, turn off the hall light",
		"set hall light to 20 percent and porch light to 50 percent":   "set the hall light to 20 percent, set the porch light to 50 percent",
		"make the kitchen light red and the hall light blue":           "make the kitchen light red, make the hall light blue",
		"hall light red, kitchen light blue":                           "make the hall light red, make the kitchen light blue",
		"turn on the vacuum and the hall light":                        "vacuum all floors, turn on the hall light",
		"turn on the heater, the kitchen light and dim the hall light": "turn on the kitchen light, turn on the heater, make the hall light 20 percent darker",

		"turn on the hall light, the porch light and the kitchen light": "turn on the kitchen light, turn on the hall light, turn on the porch light",
		"turn off hall light, porch light":                              "turn off the hall light, turn off the porch light",
		"turn the heater and the pump and the hall light off":           "turn off the hall light, turn off the pump, turn off the heater",
		"lights off in kitchen, hall and bedroom":                       "turn off the kitchen light, turn off the hall light, turn off the bedroom light",
		"turn on the light on the porch":                                "turn on the porch light",
		"are the kitchen and hall lights on?":                           "look whether the kitchen light is on, look whether the hall light is on",
		"is the hall light on and the kitchen light off?":               "look whether the hall light is on, look whether the kitchen light is on",
	} {
		if o := r.Resolve(ask(intent)); o.Plan == nil || o.Plan.Summary != want {
			t.Errorf("Resolve(%q) = %q, want a plan to %s", intent, got(o), want)
		}
	}
	for intent, want := range map[string]string{
		"turn on the heater for 5 minutes, wait 1 minute, turn off the heater": "contradict each other",
		"dim the hall light and the heater":                                    `"dim heater" is not possible`,
		"turn the hall light and the pump blue":                                `"turn pump blue" is not possible`,
		"dim the kitchen light and the hall light and the pump":                `"dim pump" is not possible`,
		"turn on the heater and the light":                                     "which one",
		"turn off the heater, the pump and the lamp":                           "which one",
		"turn on everything":                                                   `"all" of what?`,
		"turn on the hall light, kitchen light and the attic":                  "attic",
		"turn off the kitchen, the hall and the heater":                        "say one for each",
		"the hall light and the kitchen light":                                 "",
		"don't turn on the hall light, kitchen light off":                      "excludes something",
		"turn on the hall light and vacuum the attic":                          "kitchen, hall, bedroom", // and not all floors
		"turn on the vacuum and the hall light for zzz":                        "zzz",
		"turn on the vacuum and the hall light for my friend":                  "friend",
	} {
		o := r.Resolve(ask(intent))
		said := got(o)
		if o.Question != nil {
			said = o.Question.Text
		}
		if o.Plan != nil || !strings.Contains(said, want) {
			t.Errorf("Resolve(%q) = %q, want no plan, and %q", intent, got(o), want)
		}
	}
}

// A value or color behind the last of several devices may be for all of them, so the
// interpreter asks.
func TestValueBehindTheLastLeadsToQuestion(t *testing.T) {
	r := lamps()
	for _, intent := range []string{
		"dim the hall light and the kitchen light to 30 percent",
		"brighten the hall light and the porch light 30%",
		"turn on the hall light, kitchen light and porch light at 30 percent",
		"turn on the hall light and kitchen light warm white",
		"turn on the hall light and kitchen light red",
	} {
		o := r.Resolve(ask(intent))
		if o.Question == nil || !strings.Contains(o.Question.Text, "only the last has a value or a color: shall I ") && !strings.Contains(o.Question.Text, "which of the two: ") {
			t.Errorf("Resolve(%q) = %q, want to be asked", intent, got(o))
		}
	}
	for intent, want := range map[string]string{
		"turn off the hall light and kitchen light to 30 percent":    "turn off the hall light, set the kitchen light to 30 percent",
		"hall light on and kitchen light blue":                       "turn on the hall light, make the kitchen light blue",
		"turn on the hall light and dim the kitchen light to 30":     "turn on the hall light, set the kitchen light to 30 percent",
		"set the hall light and the kitchen light to 30 percent":     "set the kitchen light to 30 percent, set the hall light to 30 percent",
		"set hall light to 20 percent and porch light to 50 percent": "set the hall light to 20 percent, set the porch light to 50 percent",
	} {
		if o := r.Resolve(ask(intent)); o.Plan == nil || o.Plan.Summary != want {
			t.Errorf("Resolve(%q) = %q, want a plan to %s", intent, got(o), want)
		}
	}
}
