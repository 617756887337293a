package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// A report about a state or an event orders nothing.
func TestReportsOrderNothing(t *testing.T) {
	for _, intent := range []string{
		"heater still on", "garage door still open", "hall light still on please", "fan still running", "garage door now open", "vacuum still vacuuming", "vacuum still in the kitchen",
		"the heater turns off", "hall light turns on", "the pump runs", "pump runs for 10 seconds", "hall light dims", "the hall light changes to red", "the vacuum cleans the kitchen",
		"the garage door opens", "the garage door closes at 9 pm", "fan switches on", "pump running", "turns on the hall light", "turns off the heater and turns on the fan", "opens the garage door",
		"toggles the hall light", "start of the vacuum", "the start of the vacuum", "the off switch of the fan", "fan off switch", "the clean kitchen", "the dim hall light", "the open garage door",
		"to open the garage door", "let the garage door open", "the heater gets turned on", "I left the garage door open", "I think I left the heater on", "the fan went off",
	} {
		if o := rich().Resolve(ask(intent)); o.Plan != nil && o.Plan.Actuates() {
			t.Errorf("Resolve(%q) = %q acts", intent, got(o))
		}
	}
	for intent, want := range map[string]string{
		"heater still on": "read-switch heater", "garage door still open": "read-sensor garage-door",
		"please turn the fan on": "switch-on fan", "the hall light on": "switch-on hall-lamp", "lights off in the hall": "switch-off hall-lamp", "the hall needs vacuuming": "vacuum-floor robot",
		"vacuum the kitchen still": "", "turn on the hall light now": "switch-on hall-lamp",
	} {
		if o := rich().Resolve(ask(intent)); want != "" && got(o) != want {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
}

// The plan leaves out nothing that the text names, and delays nothing.
func TestSeveralPlacesLoseNothing(t *testing.T) {
	for intent, no := range map[string]string{
		"turn off the heater now and the fan at 9 pm":              "are two times",
		"right now turn off the heater and the fan in ten minutes": "are two times",
		"turn off the heater. The fan at 9 pm.":                    "",
		"turn on the fan, the heater for ten minutes":              "",
		"vacuum the kitchen now and the hall at 9 pm":              "are two times",
	} {
		o := rich().Resolve(ask(intent))
		if o.Plan != nil && o.Plan.Actuates() || no != "" && (o.Refusal == nil || !strings.Contains(o.Refusal.Reason, no)) {
			t.Errorf("Resolve(%q) = %q, want no plan, and %q", intent, got(o), no)
		}
	}
}

// Values of a context with unknown keys pick nothing, and neither does a place that
// something is near to.
func TestUnknownKeysPickNothing(t *testing.T) {
	field := func(key string, value any) mess.Entry {
		return mess.Entry{Type: "json", Value: mess.Object{{Key: key, Value: value}}}
	}
	for _, entry := range []mess.Entry{
		field("avoid", "porch"), field("previous_room", "porch"), field("user", mess.Object{{Key: "room", Value: "porch"}}), field("brightness", mess.Number("0.5")), field("level", mess.Number("0")),
		mess.TextEntry("it is next to the porch"), mess.TextEntry("near the porch"),
	} {
		req := ask("turn on the light")
		req.Context = []mess.Entry{entry}
		if o := resolver().Resolve(req); o.Question == nil || o.Question.Field != "device" {
			t.Errorf("beside %+v: %q, want a question which", entry, got(o))
		}
	}
	for _, line := range []string{"the owner is against it", "my landlord is opposed", "that is a bad idea", "this is an example", "the electrician is here"} {
		if o := resolver().Resolve(beside("turn on the porch light", line)); o.Question == nil || o.Question.Field != "context" {
			t.Errorf("beside %q: %q, want a question", line, got(o))
		}
	}
	if o := resolver().Resolve(beside("turn on the heater", "the children are here")); o.Question == nil || o.Question.Field != "context" {
		t.Errorf("a heater beside children: %q, want a question", got(o))
	}
	for _, key := range []string{"dry_run", "dry-run", "only_if"} {
		req := ask("turn on the porch light")
		req.Extra = mess.Object{{Key: key, Value: true}}
		expect(t, req, "no: "+key+" is unknown, and this home cannot obey it")
	}
}
