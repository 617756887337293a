package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// crowd is a home for many kinds of requests.
func crowd() *interpret.Interpreter {
	on := []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}
	light := append([]capabilities.Command{capabilities.Dim, capabilities.SetColor}, on...)
	door := []capabilities.Command{capabilities.Open, capabilities.Close, capabilities.ReadState}
	return interpret.New(catalog.Default(), capabilities.Home{Now: sunday, Devices: []capabilities.Device{
		{Name: "kitchen-light", Label: "kitchen light", Class: "light", Area: "kitchen", Commands: light},
		{Name: "hall-light", Label: "hall light", Class: "light", Area: "hall", Commands: light},
		{Name: "heater", Label: "bathroom heater", Class: "heater", Area: "bathroom", Commands: on},
		{Name: "fan", Label: "bedroom fan", Class: "fan", Area: "bedroom", Commands: on},
		{Name: "garage-door", Label: "garage door", Class: "garage-door", Area: "garage", Aliases: []string{"garage"}, Commands: door},
		{Name: "blind", Label: "bedroom blind", Class: "blind", Area: "bedroom", Commands: door},
	}})
}

// People greet, hurry, give reasons, and make mistakes.
func TestEverydayLanguage(t *testing.T) {
	say(t, crowd(), [][2]string{
		{"good evening, turn on the kitchen light pls", "switch-on"},
		{"turn on the kitchen light if you please", "switch-on"},
		{"if you could turn on the kitchen light", "switch-on"},
		{"turn on the kitchen light when you get a chance", "switch-on"},
		{"can we have the light in the kitchen off", "switch-off"},
		{"garage door down", "close"},
		{"garage door up please", "open"},
		{"kitchen light & hall light off", "switch-off"},
		{"heat up the bathroom", "switch-on"},
		{"it's too dim in the kitchen", "asks: the text does not say what to do"},
		{"I need some light in the kitchen", "asks: the text does not say what to do: shall I turn on the kitchen light?"},
		{"I'm in the driveway, open the garage door", "asks: shall I open the garage door?"},
		{"turn on kitchn light", `asks: not understood: "kitchn"; with "kitchen" instead, shall I turn on the kitchen light?`},
		{"trun on the kitchen light", `asks: not understood: "trun"; with "turn" instead, shall I turn on the kitchen light?`},
		{"open the garge", "asks: shall I open the garage door?"},
	})
}

// The interpreter refuses a text with two contradicting orders, or with a limit in a
// remark, as a whole.
func TestContradictionsAreRefusedWhole(t *testing.T) {
	for _, text := range []string{
		"turn the kitchen light on and off", "kitchen light off or on", "open the blind up and down",
		"make the hall light red and blue", "make the hall light green or yellow",
		"heat up the kitchen", "warm up the hall light", "don't open the garge", "is the kitchn light on", "why is the kitchn light on",
		"open the garge if it rains", "dim half the lights", "turn on half the lights", "three quarters of the lights on", "he said open the garge", "turn on the kitchen light && the heater", "turn on&off the heater",
	} {
		o := crowd().Resolve(ask(text))
		if o.Plan != nil && o.Plan.Actuates() {
			t.Errorf("%q: %s", text, cut(o))
		}
		if o.Question != nil && o.Question.Field == "go_ahead" && !strings.Contains(o.Question.Text, "nothing here waits") {
			t.Errorf("%q: %s", text, cut(o))
		}
	}
	for _, precision := range []mess.Precision{mess.Exact, mess.Loose} {
		if o := crowd().Resolve(mess.Request{Intent: "turn on kitchn light", Precision: precision}); o.Plan != nil && o.Plan.Actuates() {
			t.Errorf("%s: %s", precision, cut(o))
		}
	}
}
