package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// A sign may turn an order into its opposite, so the interpreter drops none.
func TestUnknownSignsAreRefused(t *testing.T) {
	tests := []struct{ intent, sign string }{
		{"❌ turn on the porch light", "❌"},
		{"🚫turn on the porch light", "🚫"},
		{"¬ turn on the porch light", "¬"},
		{"~~turn on the porch light~~", "~"},
		{"!turn on the porch light", "!"},
		{"turn on ! the porch light", "!"},
		{"porch light != on", "!"},
		{"porch light =/= on", "="},
		{"porch light ≠ on", "≠"},
		{"turn on the porch light && the heater", "&"},
		{"turn on the porch/hall light", "/"},
		{"turn on the porch light for 1½ hours", "½"},
		{"turn on the porch light for 10² minutes", "²"},
		{"turn on the porch light for %10 minutes", "%"},
		{"turn on the porch light for 10%5 minutes", "%"},
		{"turn on the porch light for ~10 minutes", "~"},
		{"turn on the porch light for >10 minutes", ">"},
		{"turn on the porch light for <10 minutes", "<"},
		{"turn on the porch light for -10 minutes", "-"},
		{"turn on the porch light for –10 minutes", "–"},
		{"turn on the porch light for −10 minutes", "−"},
		{"turn on the porch light for 5-10 minutes", "-"},
		{"turn on the porch light for .5 minutes", "."},
		{"turn on the porch light for 1,5 minutes", ","},
		{"turn on the porch light \u202e", `\u202e`},
		{"turn on\x00 the porch light", `\x00`},
		{"what is in the fridge? 🙃", "🙃"},
		{"turn on the porch light 👎", "👎"},
		{"turn on the porch light 🤔", "🤔"},
	}
	for _, tt := range tests {
		for _, needs := range [][]mess.Capability{nil, {needs("switch-on", "devices", []any{"porch-lamp"})}} {
			o := resolver().Resolve(mess.Request{Intent: tt.intent, Requires: needs})
			if want := `"` + tt.sign + `"`; o.Refusal == nil || !strings.Contains(o.Refusal.Reason, want) {
				t.Errorf("Resolve(%q) = %q, want a refusal with %s", tt.intent, got(o), want)
			}
		}
	}
}

// Signs that separate words and end sentences have no meaning of their own.
func TestPunctuationMeansNothing(t *testing.T) {
	for _, intent := range []string{
		"Hey! Turn on the porch light!!!", "please: turn on the porch light", `turn on the "porch light"...`,
		"turn on (please) the porch-light", "turn on the ‘porch light’", "turn on the “porch light”; thanks!", "turn on porch_light",
		"turn on the porch light – please", "turn on the porch light !", "turn on the\tporch\n light…",
		"turn on the porch light 😊", "🙏 turn on the porch light 👍🏽", "turn on the porch light ❤️!",
	} {
		if o := resolver().Resolve(ask(intent)); got(o) != "switch-on porch-lamp" {
			t.Errorf("Resolve(%q) = %q, want switch-on porch-lamp", intent, got(o))
		}
	}
}

// A name has the signs of the configuration.
func TestSignsInNames(t *testing.T) {
	h := exampleHome()
	h.Devices[0].Label = "Tom & Ann's lamp #1"
	r := interpret.New(catalog.Default(), h)
	if o := r.Resolve(ask("turn on tom & ann's Lamp #1")); got(o) != "switch-on porch-lamp" {
		t.Errorf("Resolve = %q, want switch-on porch-lamp", got(o))
	}
	if o := r.Resolve(ask("turn on # tom & ann's lamp #1")); o.Refusal == nil {
		t.Errorf("Resolve = %q, want a refusal", got(o))
	}
}

func TestDoubtfulAnswers(t *testing.T) {
	r, yesNo, which := resolver(), ask("can you turn on the porch light?"), ask("turn on the light")
	for _, answer := range []string{"yes?", "❌ yes", "!yes", "yes ≠", "~yes~", "¬yes", "yes/no", "yes & no"} {
		if yes, _, _ := catalog.MatchYesNo(answer); yes {
			t.Errorf("MatchYesNo(%q) is yes", answer)
		}
		q := question(t, r, yesNo)
		for _, o := range []capabilities.Outcome{r.Answer(q, nil, answer, yesNo), r.Answer(q, mess.Object{{Key: q.Field, Value: answer}}, "", yesNo)} {
			if o.Question == nil {
				t.Errorf("Answer(%q) = %q, want the question again", answer, got(o))
			}
		}
	}
	for _, answer := range []string{"porch light?", "is it the porch light", "❌ porch light", "-1", "!2"} {
		if o := r.Answer(question(t, r, which), nil, answer, which); o.Question == nil {
			t.Errorf("Answer(%q) = %q, want the question again", answer, got(o))
		}
	}
	for _, answer := range []string{"no ❌", "❌ no", "❌ stop"} {
		if o := r.Answer(question(t, r, yesNo), nil, answer, yesNo); o.Refusal == nil {
			t.Errorf("Answer(%q) = %q, want a refusal", answer, got(o))
		}
	}
}
