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

// rich is the fixture home with a fan, a pump, and a door that reports its state.
func rich() *interpret.Interpreter {
	h := exampleHome()
	on := []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}
	h.Devices = append(h.Devices,
		capabilities.Device{Name: "fan", Label: "bedroom fan", Class: "fan", Area: "bedroom", Commands: on, Quantities: []string{}},
		capabilities.Device{Name: "pump", Label: "garden pump", Class: "pump", Area: "garden", Commands: on},
		capabilities.Device{Name: "hall-lamp", Label: "hall light", Class: "light", Area: "hall", Commands: append(on, capabilities.Dim, capabilities.SetColor), Quantities: []string{}},
		capabilities.Device{
			Name: "garage-door", Label: "garage door", Class: "garage-door", Area: "garage", Quantities: []string{"contact"},
			Commands: []capabilities.Command{capabilities.Open, capabilities.Close, capabilities.ReadState},
		})
	h.Now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	h.SiteCapabilities = []string{"home-kitchen-access"}
	return interpret.New(catalog.Default(), h)
}

// A yes/no question gets an answer and never acts.
func TestYesNoQuestionsNeverAct(t *testing.T) {
	for intent, want := range map[string]string{
		"isn't the fan on?": "read-switch fan", "isn't the fan on": "read-switch fan", "aren't the hall lights off?": "read-switch hall-lamp",
		"is the fan running?": "read-switch fan", "is the fan still running?": "read-switch fan", "didn't you turn off the heater?": "read-switch heater",
		"did somebody leave the heater on?": "read-switch heater", "have you turned the fan off?": "read-switch fan", "did you switch on the fan": "read-switch fan",
		"did you close the garage door?": "read-sensor garage-door", "has anybody opened the garage door?": "read-sensor garage-door", "has the vacuum finished?": "no",
		"do not turn on the fan?": "no", "don't turn on the fan": "no", "won't you turn on the fan?": "no", "why is the fan on?": "no", "who turned on the fan?": "no",
	} {
		o := rich().Resolve(ask(intent))
		if want == "no" && (o.Plan == nil || !o.Plan.Actuates()) {
			continue
		}
		if got(o) != want {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
}

// An order for no change changes nothing.
func TestOrderForNoChangeIsRefused(t *testing.T) {
	for _, intent := range []string{"leave the garage door open", "keep the hall light on", "leave the hall light off", "please keep the fan on for ten minutes", "turn on the fan and leave the hall light on", "leave the lovely lamp on"} {
		if o := rich().Resolve(ask(intent)); o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "asks for no change") {
			t.Errorf("Resolve(%q) = %q, want a refusal", intent, got(o))
		}
	}
}

// An order with "or" leads to a question, and never to the first of the two.
func TestDisjunctionAsksForOne(t *testing.T) {
	for intent, want := range map[string]string{
		"turn on the hall light or the fan":               "turn on the hall light|turn on the bedroom fan",
		"open or close the garage door":                   "open the garage door|close the garage door",
		"turn on the fan or turn off the heater":          "turn on the bedroom fan|turn off the heater",
		"please turn on the hall light or the lamp":       "turn on the hall light|please turn on the lamp",
		"turn the hall light on or off":                   "",
		"turn on the fan or not":                          "",
		"turn on the fan or the moon":                     "",
		"turn on the hall light or the fan or the heater": "",
	} {
		o := rich().Resolve(ask(intent))
		switch {
		case o.Plan != nil && o.Plan.Actuates():
			t.Errorf("Resolve(%q) = %q acts", intent, got(o))
		case want != "" && (o.Question == nil || strings.Join(o.Question.Options, "|") != want):
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
	r, req := rich(), ask("turn on the hall light or the lamp")
	o := r.Answer(question(t, r, req), nil, "the lamp", req)
	if o.Question == nil || o.Question.Field != "device_2" {
		t.Fatalf("the answer led to %q, want a question which lamp", got(o))
	}
	if o = r.Answer(*o.Question, nil, "the reading one", req); got(o) != "switch-on reading-lamp" {
		t.Errorf("the answer led to %q", got(o))
	}
}

// A remark next to an order has the effect of a line of context.
func TestRemarksCountAsContext(t *testing.T) {
	for intent, want := range map[string]string{
		"It's dark, turn on the hall light":            "switch-on hall-lamp",
		"turn on the hall light, it is dark":           "switch-on hall-lamp",
		"turn on the hall light, Mum is here":          "switch-on hall-lamp",
		"It's raining, close the garage door":          "? context: yes, no",
		"the baby is asleep, turn on the hall light":   "",
		"turn on the hall light, the kids are asleep":  "? context: yes, no",
		"It's raining, close the window":               "no: there is no window here",
		"it must stay dark, turn on the hall light":    "",
		"nobody goes there, turn on the hall light":    "",
		"the hall is fine off, turn on the hall light": "",
	} {
		o := rich().Resolve(ask(intent))
		if want == "" && (o.Plan == nil || !o.Plan.Actuates()) {
			continue
		}
		if got(o) != want {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
}

func TestMoreOrders(t *testing.T) {
	for intent, want := range map[string]string{
		"stop watering": "switch-off pump", "stop watering the garden": "switch-off pump",
		"turn on the other fan": "? go_ahead: yes, no", "turn on the fan in the kitchen": "no: bedroom fan is not in the kitchen",
		"turn on the other lamp": "? device: porch light, reading lamp, ceiling light, hall light",
	} {
		if o := rich().Resolve(ask(intent)); got(o) != want {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
	if yes, no, _ := catalog.MatchYesNo("y"); !yes || no {
		t.Error(`MatchYesNo("y") is not yes`)
	}
}

// The interpreter refuses a plan that begins after its deadline.
func TestBeginAfterDeadlineIsRefused(t *testing.T) {
	at := func(until string) mess.Request {
		return mess.Request{Intent: "turn on the fan at 8 pm", NeededBy: mess.Time(until)}
	}
	expires := func(until string) mess.Request {
		return mess.Request{Intent: "turn on the fan at 8 pm", Constraints: &mess.Constraints{Timing: &mess.Timing{Expires: mess.TimeOrDuration(until)}}}
	}
	for _, tt := range []struct {
		req mess.Request
		no  string
	}{
		{at("2026-05-04T19:00:00Z"), "needed_by is before that, on Monday 4 May at 19:00:00"},
		{at("2026-05-04T21:00:00Z"), ""},
		{expires("PT2H"), "constraints.timing.expires is before that"},
		{expires("2026-05-05T00:00:00Z"), ""},
		{mess.Request{Intent: "turn on the fan", NeededBy: "2026-05-04T13:00:00Z"}, ""},
	} {
		o := rich().Resolve(tt.req)
		if refused := o.Refusal != nil && strings.Contains(o.Refusal.Reason, tt.no); (tt.no != "") != refused || tt.no == "" && o.Plan == nil {
			t.Errorf("Resolve(%+v) = %q, want %q", tt.req, got(o), tt.no)
		}
	}
}

// The metadata of requires have parameters.
func TestRequiresHasParameters(t *testing.T) {
	n := func(s string) mess.Number { return mess.Number(s) }
	for _, tt := range []struct {
		intent string
		needs  []mess.Capability
		want   string // the summary, or a refusal
	}{
		{"the hall light", []mess.Capability{needs("set-brightness", "level", n("40"))}, "set the hall light to 40 percent"},
		{"the hall light", []mess.Capability{needs("set-brightness", "brightness", "40%")}, "set the hall light to 40 percent"},
		{"dim the hall light", []mess.Capability{needs("set-brightness", "level", n("40"))}, "set the hall light to 40 percent"},
		{"turn on the hall light", []mess.Capability{needs("set-brightness", "level", n("40"))}, "set the hall light to 40 percent"},
		{"the hall light", []mess.Capability{needs("set-colour", "color", "red")}, "make the hall light red"},
		{"the hall light", []mess.Capability{needs("set-colour", "colour", "#00ff00")}, "make the hall light green"},
		{"darker in the hall", []mess.Capability{needs("dim", "change", n("10"))}, "make the hall light 10 percent darker"},
		{"the hall light", []mess.Capability{needs("dim", "change", n("10"))}, "make the hall light 10 percent darker"},
		{"set the hall light to 20 percent", []mess.Capability{needs("set-brightness", "level", n("40"))}, "no: the text says level 20, but requires says 40; make them agree"},
		{"dim the hall light by 30 percent", []mess.Capability{needs("set-brightness", "level", n("40"))}, "no: "},
		{"turn off the hall light", []mess.Capability{needs("set-brightness", "level", n("40"))}, "no: "},
		{"the hall light", []mess.Capability{needs("set-brightness", "level", n("400"))}, "no: requires: set-brightness: level is 400, and may be 0 to 100 percent"},
		{"the hall light", []mess.Capability{needs("set-brightness", "level", "bright")}, `no: requires: set-brightness: level: "bright" is no number`},
		{"the hall light", []mess.Capability{needs("set-brightness", "level", "NaN")}, "no: requires: set-brightness: level"},
		{"the hall light", []mess.Capability{needs("set-colour", "colour", "octarine")}, `no: requires: set-colour: colour: "octarine" is no known color`},
		{"the hall light", []mess.Capability{needs("set-brightness", "speed", n("4"))}, "no: requires: set-brightness: speed: neither text nor a list of texts, and no parameter of it; known: areas, devices, executor, for, level, quantity"},
		{"is the hall light on?", []mess.Capability{needs("set-brightness", "level", n("40"))}, "no: "},
		{"turn on the fan", []mess.Capability{needs("switch-on"), needs("home-kitchen-access")}, "turn on the bedroom fan"},
		{"turn on the fan", []mess.Capability{needs("switch-on"), needs("home-kitchen-access", "areas", "kitchen", "executor", "pi")}, "turn on the bedroom fan"},
		{"turn on the fan", []mess.Capability{needs("switch-on"), needs("home-kitchen-access", "areas", "attic")}, `no: requires: home-kitchen-access: areas: there is no place "attic" here`},
		{"turn on the fan", []mess.Capability{needs("switch-on"), needs("home-kitchen-access", "devices", "moon")}, `no: requires: home-kitchen-access: devices: there is no "moon" here`},
		{"turn on the fan", []mess.Capability{needs("switch-on"), needs("home-kitchen-access", "level", "expert")}, "no: requires: home-kitchen-access: level: nothing here can tell that"},
	} {
		o := rich().Resolve(mess.Request{Intent: tt.intent, Requires: tt.needs})
		no, refused := strings.CutPrefix(tt.want, "no: ")
		switch {
		case refused && (o.Refusal == nil || !strings.Contains(o.Refusal.Reason, no)), !refused && (o.Plan == nil || o.Plan.Summary != tt.want):
			t.Errorf("Resolve(%q, %v) = %q, want %q", tt.intent, tt.needs, got(o), tt.want)
		}
	}
}
