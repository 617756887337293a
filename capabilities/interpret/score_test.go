package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// A text that matches no sentence leads to a question, and never acts without an answer.
func TestScoredReadingsLeadToQuestions(t *testing.T) {
	tests := []struct{ intent, want string }{
		{"turn off the heater turn off", "? meaning: turn off the heater, none of these"},
		{"turn down the lights", `no: porch light, reading lamp, ceiling light cannot do that (make a light darker) here`},
		{"turn off the heater turn off if it rains", `no: "if it rains" is a condition`},
		{"turn off the heater turn off quickly", `no: not understood: "quickly"`},
		{"turn off the heater turn off?", `no: no known order or question`},
	}
	r := resolver()
	for _, tt := range tests {
		o := r.Resolve(ask(tt.intent))
		if !strings.HasPrefix(got(o), tt.want) {
			t.Errorf("Resolve(%q) = %q, want %q", tt.intent, got(o), tt.want)
		}
		if o.Question != nil && (o.Explain.Score <= 0 || o.Explain.Score >= 1) {
			t.Errorf("Resolve(%q): score %v, want one below 1", tt.intent, o.Explain.Score)
		}
		exact := mess.Request{Intent: tt.intent, Precision: mess.Exact}
		if o := r.Resolve(exact); o.Refusal == nil {
			t.Errorf("Resolve(%q) exactly = %q, want a refusal", tt.intent, got(o))
		}
	}
}

// A name alone is no order. The interpreter asks for the order, and the answer is an order
// like any other.
func TestNameAloneLeadsToQuestion(t *testing.T) {
	r := resolver()
	const orders = "? order: turn on the porch light, turn off the porch light, look whether the porch light is on, none of these"
	for text, want := range map[string]string{
		"porch light": orders, "the light on the porch": orders, "the porch light, please": orders,
		"porch light?": "? order: look whether the porch light is on, none of these",
		"porch":        `no: "porch" is a name`, "lights": `no: "lights" is a name`,
	} {
		if o := r.Resolve(ask(text)); got(o) != want && (want[0] == '?' || !strings.HasPrefix(got(o), want)) {
			t.Errorf("Resolve(%q) = %q, want %q", text, got(o), want)
		}
	}
	if o := r.Resolve(mess.Request{Intent: "porch light", Precision: mess.Exact}); o.Refusal == nil {
		t.Errorf("exactly: %q, want a refusal", got(o))
	}
	req := ask("porch light")
	q := question(t, r, req)
	for answer, want := range map[string]string{"turn off the porch light": "switch-off porch-lamp", "look whether the porch light is on": "read-switch porch-lamp", "none of these": "no: the answer picks none of the options", "2": "switch-off porch-lamp"} {
		if o := r.Answer(q, nil, answer, req); !strings.HasPrefix(got(o), want) {
			t.Errorf("the answer %q comes to %q, want %q", answer, got(o), want)
		}
	}
}

func TestScoredAnswers(t *testing.T) {
	r, req := resolver(), ask("turn off the heater turn off")
	q := question(t, r, req)
	for _, tt := range []struct{ answer, want string }{
		{"yes", "switch-off heater"},
		{"turn off the heater", "switch-off heater"},
		{"no", "no: the answer picks none of the options; say it in other words"},
		{"none", "no: the answer picks none of the options; say it in other words"},
		{"stop", "no: the requester withdrew it; nothing happens"},
		{"perhaps", "? meaning: turn off the heater, none of these"},
	} {
		if o := r.Answer(q, nil, tt.answer, req); got(o) != tt.want {
			t.Errorf("Answer(%q) = %q, want %q", tt.answer, got(o), tt.want)
		}
	}
}

// With precision loose a text may have unknown words, but only for a query.
func TestLoosePrecisionOnlyQueries(t *testing.T) {
	for _, tt := range []struct{ intent, want string }{
		{"is there still some milk left in the fridge", "check-visual fridge-cam"},
		{"has the parcel come to the front door", "take-photo porch-cam"},
		{"make the porch light cosy", "read-switch porch-lamp"},
		{"turn on the porch light in ten minutes", `no: "in ten minutes" is a time`},
		{"order a pizza", `no: not understood: "order", "pizza"`},
	} {
		o := resolver().Resolve(mess.Request{Intent: tt.intent, Precision: mess.Loose})
		if !strings.HasPrefix(got(o), tt.want) {
			t.Errorf("Resolve(%q) = %q, want %q", tt.intent, got(o), tt.want)
		}
		if o.Plan != nil && o.Plan.Effect != capabilities.Query {
			t.Errorf("Resolve(%q) would act: %s", tt.intent, o.Plan.Summary)
		}
	}
}

// The plan of a nearest query lists the skipped words.
func TestLoosePlanListsSkippedWords(t *testing.T) {
	o := resolver().Resolve(mess.Request{Intent: "what does the weather look like in the fridge", Precision: mess.Loose})
	if o.Plan == nil || o.Plan.Actuates() || len(o.Plan.Unused) != 1 || !strings.Contains(o.Plan.Unused[0], `"weather"`) || !strings.Contains(o.Plan.Unused[0], "nearest") {
		t.Errorf("%s, not used: %v", got(o), o.Plan)
	}
	if o := resolver().Resolve(mess.Request{Intent: "look at the fridge", Precision: mess.Loose}); o.Plan == nil || len(o.Plan.Unused) > 0 {
		t.Errorf("a complete sentence with loose precision: %s, want no unused words", got(o))
	}
}
