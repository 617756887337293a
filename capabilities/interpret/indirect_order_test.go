package interpret_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// appliances is a home with two devices on plugs and two lamps, at noon.
func appliances() *interpret.Interpreter {
	plug := func(name, class, area string) capabilities.Device {
		return capabilities.Device{Name: name, Class: class, Area: area, Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState, capabilities.Toggle}}
	}
	lamp := func(name, area string) capabilities.Device {
		d := plug(name, "light", area)
		d.Commands = append(d.Commands, capabilities.Dim, capabilities.SetColor)
		return d
	}
	return interpret.New(catalog.Default(), capabilities.Home{
		Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Devices: []capabilities.Device{
			plug("heater", "heater", "bathroom"), plug("tv", "tv", "living room"), lamp("kitchen-light", "kitchen"), lamp("hall-light", "hall"),
			{
				Name: "vacuum", Class: "vacuum", Area: "hall", WorkAreas: spills,
				Commands: []capabilities.Command{capabilities.Clean, capabilities.Dock, capabilities.ReadState, capabilities.Stop},
			},
		},
	})
}

// A wish for a state is no order. It leads to a question, and acts after a yes.
func TestWishNeedsConfirmation(t *testing.T) {
	r := appliances()
	for _, text := range []string{
		"the heater should be on", "the heater has to be on", "the heater needs to be on", "the heater must be on",
		"the heater should be turned on", "the kitchen light should be off", "the lights should be red", "the lights need to be brighter",
	} {
		out := r.Resolve(ask(text))
		if out.Question == nil || !strings.Contains(out.Question.Text, "the text describes a wish") {
			t.Errorf("%q: plan %v, refusal %v, want a question whether it is to be done", text, out.Plan, out.Refusal)
		}
	}
	out := r.Resolve(ask("the heater should be on"))
	if out = r.Answer(*out.Question, nil, "yes", ask("the heater should be on")); out.Plan == nil || out.Plan.Device != "heater" {
		t.Errorf("after yes: %+v, want a plan for the heater", out)
	}
	for _, text := range []string{"I want the heater on", "I want the heater to be on", "heater on"} {
		if out := r.Resolve(ask(text)); out.Plan == nil {
			t.Errorf("%q: %+v, want a plan", text, out)
		}
	}
}

// An order in quotation marks quotes a person. A name in quotation marks is a name.
func TestQuotedOrderNeedsConfirmation(t *testing.T) {
	r := appliances()
	for _, text := range []string{
		`"turn on the heater"`, `'turn on the heater'`, "“turn on the heater”", "«turn on the heater»", "„turn on the heater“", "`turn on the heater`",
		`"Turn on the heater."`, `"turn on the heater`, `"turn on the heater" "please"`, `turn "on" the heater`, `"turn on the tv" and "turn on the heater"`,
		`"turn on the heater for ten minutes"`, `please "turn on the lights"`,
	} {
		out := r.Resolve(ask(text))
		if out.Question == nil || !strings.Contains(out.Question.Text, "quotation marks") {
			t.Errorf("%s: plan %v, refusal %v, want a question whether it is to be done", text, out.Plan, out.Refusal)
		}
	}
	for _, text := range []string{`he said "turn on the heater"`, `"turn on the heater" is what she said`} {
		if out := r.Resolve(ask(text)); out.Refusal == nil {
			t.Errorf("%s: %+v, want a refusal", text, out)
		}
	}
	for _, text := range []string{`turn on the "heater"`, "turn on the 'heater'", `turn on “the heater”`, "turn off the kitchen's light", "turn on the heater's"} {
		if out := r.Resolve(ask(text)); out.Question != nil && strings.Contains(out.Question.Text, "quotation") {
			t.Errorf("%s: asked about its quotation marks, which hold a name", text)
		}
	}
	if out := r.Resolve(ask(`turn on the "heater"`)); out.Plan == nil {
		t.Errorf("a name in quotation marks: %+v, want a plan", out)
	}
	if out := r.Resolve(ask(`"is the heater on"`)); out.Plan == nil || out.Plan.Actuates() {
		t.Errorf("a quoted question: %+v, want it read", out)
	}
}

// A time next to one of two devices leads to a question: the plan neither drops it nor applies it
// to both.
func TestTimeOfOneDeviceLeadsToQuestion(t *testing.T) {
	r := appliances()
	for text, want := range map[string]string{
		"turn on the TV for ten minutes and heater":              `"for ten minutes" may be for one device only`,
		"turn on the TV and for ten minutes the heater":          `"for ten minutes" may be for one device only`,
		"turn on the TV in ten minutes and the heater":           `"in ten minutes" may be for one device only`,
		"set the kitchen light to 20 percent and the hall light": `the value may be for the device before "and" only`,
		"turn the kitchen light red and the hall light":          `the value may be for the device before "and" only`,
		"dim the kitchen light to 20 percent and the hall light": `the value may be for the device before "and" only`,
	} {
		out := r.Resolve(ask(text))
		if out.Question == nil || !strings.Contains(out.Question.Text, want) {
			t.Errorf("%q: plan %v, refusal %v, question %+v; want a question with %s", text, out.Plan, out.Refusal, out.Question, want)
		}
	}
	for _, text := range []string{
		"turn on the TV and heater for ten minutes", "for ten minutes turn on the TV and the heater", "set the kitchen and the hall light to 20 percent",
		"turn on the TV for ten minutes and turn on the heater", "in ten minutes turn on the TV and heater",
	} {
		if out := r.Resolve(ask(text)); out.Plan == nil || len(out.Plan.Steps) != 2 {
			t.Errorf("%q: %+v, want a plan of two steps", text, out)
		}
	}
	req := ask("turn on the TV for ten minutes and heater")
	out := r.Resolve(req)
	yes, no := r.Answer(*out.Question, nil, "yes", req), r.Answer(*out.Question, nil, "no", req)
	if yes.Plan == nil || len(yes.Plan.Steps) != 2 || yes.Plan.Steps[0].For != 10*time.Minute || yes.Plan.Steps[1].For != 10*time.Minute || no.Refusal == nil {
		t.Errorf("yes: %+v, no: %+v; want both for ten minutes, and nothing", yes.Plan, no.Plan)
	}
}

// A stop of everything is no request, and the refusal names the command that stops.
func TestBareStopNamesTheStopCommand(t *testing.T) {
	r := appliances()
	for _, text := range []string{
		"stop", "STOP!", "stop everything", "stop everything now", "please stop all devices", "emergency stop", "Emergency!", "halt", "freeze",
		"stop all motion", "stop it immediately", "stop the machines",
	} {
		out := r.Resolve(ask(text))
		if out.Refusal == nil || !strings.Contains(out.Refusal.Reason, "messkit stop") || !strings.Contains(out.Refusal.Reason, "console") {
			t.Errorf("%q: %+v, want a refusal that names messkit stop and the console", text, out)
		}
	}
	if out := r.Resolve(ask("stop the vacuum")); out.Plan == nil || out.Plan.Command != capabilities.Stop {
		t.Errorf("stop the vacuum: %+v, want a plan", out)
	}
	req := ask("stop")
	req.Requires = []mess.Capability{{ID: "stop-vacuum"}}
	if out := r.Resolve(req); out.Plan == nil || out.Plan.Command != capabilities.Stop {
		t.Errorf("stop, with stop-vacuum in requires: %+v, want a plan", out)
	}
}

func TestBatteriesAreRead(t *testing.T) {
	r := appliances()
	for _, text := range []string{
		"what is the battery of the vacuum?", "what's the battery level of the vacuum", "vacuum battery", "battery of the vacuum", "what is the vacuum's battery?",
		"how full is the vacuum", "how charged is the vacuum", "tell me the battery charge of the vacuum",
	} {
		out := r.Resolve(ask(text))
		if out.Plan == nil || out.Plan.Actuates() || out.Plan.Device != "vacuum" {
			t.Errorf("%q: %+v, want the battery of the vacuum read", text, out)
		}
	}
}
