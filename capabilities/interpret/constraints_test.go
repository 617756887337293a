package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// expect resolves a request and compares the outcome with want, or the refusal with the
// words behind "no: ".
func expect(t *testing.T, req mess.Request, want string) {
	t.Helper()
	o := resolver().Resolve(req)
	because, refused := strings.CutPrefix(want, "no: ")
	switch {
	case refused && (o.Refusal == nil || !strings.Contains(o.Refusal.Reason, because)):
		t.Errorf("Resolve(%q) = %q, want a refusal with %q", req.Intent, got(o), because)
	case !refused && got(o) != want:
		t.Errorf("Resolve(%q) = %q, want %q", req.Intent, got(o), want)
	}
}

func TestConstraintsAreKeptOrRefused(t *testing.T) {
	place := func(name string) *mess.Constraints { return &mess.Constraints{Location: &mess.TargetArea{Name: name}} }
	extra := func(key string) mess.Object { return mess.Object{{Key: key, Value: "2027-01-01T00:00:00Z"}} }
	tests := []struct {
		intent      string
		constraints *mess.Constraints
		want        string
	}{
		{"turn on the porch light", &mess.Constraints{Environment: []string{"daylight"}}, `no: constraints.environment: "daylight": this home does not know its position`},
		{"take a photo of the porch", &mess.Constraints{Environment: []string{"daylight"}}, `no: constraints.environment: "daylight": this home does not know its position`},

		{"turn on the porch light", place("porch"), "switch-on porch-lamp"},
		{"turn on the porch light", place("the Porch"), "switch-on porch-lamp"},
		{"turn on the porch light", place("home"), "switch-on porch-lamp"},
		{"turn on the porch light", place("the whole house"), "switch-on porch-lamp"},
		{"turn on the porch light", place("kitchen"), "no: nothing in kitchen can"},
		{"turn on the porch light", place("attic"), `no: constraints.location: there is no place "attic" here; there are porch`},
		{"what's in the fridge?", place("fridge"), "look fridge-cam"},
		{"what's in the fridge?", place("attic"), `no: constraints.location: there is no place "attic" here`},
		{"start vacuuming", place("home"), "vacuum-floor robot"},
		{"vacuum near the sink", place("kitchen"), "vacuum-floor robot"},
		{"vacuum the hall", place("kitchen"), `no: the request is for "hall", but constraints.location says "kitchen"`},
		{"turn on the porch light", &mess.Constraints{Location: &mess.TargetArea{Lat: new(1.0), Lng: new(2.0)}}, "no: constraints.location: this home does not know positions on a map"},
		{"turn on the porch light", &mess.Constraints{Location: &mess.TargetArea{Extra: mess.Object{{Key: "room", Value: "attic"}}}}, "no: constraints.location"},

		{"turn on the porch light", &mess.Constraints{Extra: extra("not_before")}, "no: constraints.not_before is unknown; did you mean constraints.timing.not_before?"},
		{"turn on the porch light", &mess.Constraints{Extra: extra("expires")}, "no: did you mean constraints.timing.expires?"},
		{"turn on the porch light", &mess.Constraints{Extra: extra("weather")}, "no: constraints.weather is unknown"},
		{"turn on the porch light", &mess.Constraints{Timing: &mess.Timing{Extra: extra("notBefore")}}, "no: constraints.timing.notBefore is unknown; did you mean constraints.timing.not_before?"},
		{"turn on the porch light", &mess.Constraints{Timing: &mess.Timing{NotBefore: "2026-01-01T00:00:00Z"}}, "switch-on porch-lamp"},
	}
	for _, tt := range tests {
		expect(t, mess.Request{Intent: tt.intent, Constraints: tt.constraints}, tt.want)
	}
}

// A key in the wrong place may limit an act. The interpreter refuses the act and names the right
// key.
func TestMisplacedKeysAreRefused(t *testing.T) {
	for key, meant := range map[string]string{
		"not_before": "constraints.timing.not_before", "notBefore": "constraints.timing.not_before", "timing": "constraints.timing",
		"confirmBefore": "confirm_before", "confirm-before": "confirm_before", "confirm_befor": "confirm_before",
		"location": "constraints.location", "depends_on": "constraints.depends_on", "expires": "constraints.timing.expires", "neededBy": "needed_by",
	} {
		req := ask("turn on the porch light")
		req.Extra = mess.Object{{Key: key, Value: "x"}}
		expect(t, req, "no: "+key+" is unknown; did you mean "+meant+"?")
		req.Intent = "is the porch light on?"
		expect(t, req, "read-switch porch-lamp")
	}
	req := ask("turn on the porch light")
	req.Extra = mess.Object{{Key: "budget_code", Value: "x"}}
	expect(t, req, "switch-on porch-lamp")
}

func TestLimitInContextIsRefused(t *testing.T) {
	tests := []struct{ context, because string }{
		{"but only after sunset, do not do it now", `the context says "but only after sunset, do not do it now"`},
		{"cancel that", `the context says "cancel that"`},
		{"do not", `the context says "do not"`},
		{"if it is dark", `the context says`},
		{"at 8", `the context says`},
		{"tomorrow", `the context says`},
		{"wait for me", `the context says`},
		{"turn off the porch light", `the context says`},
		{"turn on the heater", `the context says`},
		{"❌", `the context says`},
		{"it is dark out here\nnever do that", `the context says`},

		{"only the porch", ""},
		{"I am cooking", ""},
		{"Guests are coming", ""},
		{"Good evening", ""},
		{"turn on the porch light", ""},
		{"The porch light is off", ""},
	}
	for _, tt := range tests {
		req := ask("turn on the porch light")
		req.Context = []mess.Entry{mess.TextEntry(tt.context)}
		if tt.because == "" {
			expect(t, req, "switch-on porch-lamp")
		} else {
			expect(t, req, "no: "+tt.because)
		}
		req.Intent = "is the porch light on?"
		expect(t, req, "read-switch porch-lamp")
	}
}

// The text of a context entry counts for any type. Addresses and images have no text.
func TestContextTextCountsForAnyType(t *testing.T) {
	for _, tt := range []struct {
		entry mess.Entry
		want  string
	}{
		{mess.Entry{Type: "text", Value: "do not"}, "no: the context says"},
		{mess.Entry{Type: "condition", Value: "after sunset"}, "no: the context says"},
		{mess.Entry{Type: "note", Value: "the floor is dirty"}, "switch-on porch-lamp"},
		{mess.Entry{Type: "url", Value: "https://example.com/if?not=1"}, "switch-on porch-lamp"},
		{mess.Entry{Type: "image", Value: "https://example.com/not.png"}, "switch-on porch-lamp"},
		{mess.Entry{Type: "ref", Value: "last"}, "switch-on porch-lamp"},
	} {
		req := ask("turn on the porch light")
		req.Context = []mess.Entry{tt.entry}
		expect(t, req, tt.want)
	}
}

// The interpreter refuses a limit before it asks anything.
func TestLimitInContextComesBeforeQuestions(t *testing.T) {
	for _, intent := range []string{"turn on the light", "vacuum the kitchen", "can you turn on the porch light?"} {
		req := ask(intent)
		req.Context = []mess.Entry{mess.TextEntry("do not")}
		expect(t, req, "no: the context says")
	}
	req := mess.Request{Intent: "make it cosy", Requires: []mess.Capability{needs("switch-on", "devices", []any{"ceiling"})}}
	req.Context = []mess.Entry{mess.TextEntry("not yet")}
	if o := interpret.New(catalog.Default(), exampleHome()).Resolve(req); o.Refusal == nil {
		t.Errorf("Resolve = %q, want a refusal", got(o))
	}
}

func TestTextNextToAnswerCounts(t *testing.T) {
	r, req := resolver(), ask("turn on the light")
	q := question(t, r, req)
	for beside, want := range map[string]string{
		"":                       "switch-on porch-lamp",
		"porch light":            "switch-on porch-lamp",
		"it is dark there":       "switch-on porch-lamp",
		"but not now":            "? device: porch light, reading lamp, ceiling light",
		"only if it rains":       "? device: porch light, reading lamp, ceiling light",
		"thanks\nwait until 8":   "? device: porch light, reading lamp, ceiling light",
		"and turn on the heater": "? device: porch light, reading lamp, ceiling light",
		"stop":                   "no: the requester withdrew it; nothing happens",
	} {
		if o := r.Answer(q, mess.Object{{Key: "device", Value: "porch light"}}, beside, req); got(o) != want {
			t.Errorf("Answer(porch light, beside it %q) = %q, want %q", beside, got(o), want)
		}
	}
	for text, want := range map[string]bool{"": false, "go on, the floor is dirty": false, "but not the kitchen": true, "❌": true, "later": true} {
		if interpret.HasLimit(text) != want {
			t.Errorf("Limits(%q) = %t, want %t", text, !want, want)
		}
	}
}
