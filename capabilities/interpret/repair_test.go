package interpret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// An order with a word that this home does not know or cannot carry out leads to a question that
// quotes the word. It never acts without a confirmation.
func TestUnknownWordsNeedConfirmation(t *testing.T) {
	for _, c := range []struct{ intent, names, options string }{
		{"turn off the security light on the porch", `not understood: "security"; without that, shall I turn off the porch light?`, "yes no"},
		{"turn on the upstairs light", `not understood: "upstairs"; without that, which one: `, "porch light reading lamp ceiling light"},
		{"turn off my son's porch light", `not understood: "son", "'s"; without that, shall I turn off the porch light?`, "yes no"},
		{"turn on the porch light when I get home", `nothing here waits for "when i get home"; without that, shall I turn on the porch light?`, "yes no"},
		{"turn on the porch light to frighten burglars", `not understood: "frighten", "burglars"; without that, shall I turn on the porch light?`, "yes no"},
		{"start the vacuum while I am gone", `nothing here waits for "while i am gone"; without that, shall I vacuum all floors?`, "yes no"},
	} {
		req := ask(c.intent)
		o := resolver().Resolve(req)
		if o.Question == nil || !strings.HasPrefix(o.Question.Text, c.names) || strings.Join(o.Question.Options, " ") != c.options {
			t.Errorf("Resolve(%q) = %q %+v, want a question %q", c.intent, got(o), o.Question, c.names)
			continue
		}
		for reply, acts := range map[string]bool{"yes": true, "no": false, "stop": false} {
			o := resolver().Answer(*o.Question, nil, reply, req)
			if c.options == "yes no" && (o.Plan != nil && o.Plan.Actuates()) != acts {
				t.Errorf("%q, then %q: %q, want acts %v", c.intent, reply, got(o), acts)
			}
		}
	}
}

// An order that ends in a number has no word behind it that the number could count.
func TestNumberAtTheEndCountsNothing(t *testing.T) {
	const intent = "turn on the hall light (the big one)"
	if o := resolver().Resolve(ask(intent)); o.Plan != nil {
		t.Errorf("Resolve(%q) = %q, want no plan: there is no such light", intent, got(o))
	}
}

// A text that forbids, reports, asks how, limits, or names a place is no order with an
// unknown word.
func TestNoOrderIsNoRecovery(t *testing.T) {
	for _, intent := range []string{
		"don't turn on the security light", "never turn on the strange porch light", "turn off the strange lights except the porch",
		"he said turn on the porch light", "how do I turn on the strange porch light", "explain how to turn on the porch light",
		"the porch light's on", "turn on the kitchen light", "turn on the heater in the hall", "turn on the porch light every morning",
		"turn on the porch light for 2 fortnights", "remind me to turn on the porch light", "turn on the pizza",
	} {
		if o := resolver().Resolve(ask(intent)); o.Refusal == nil {
			t.Errorf("Resolve(%q) = %q, want a refusal", intent, got(o))
		}
	}
	o := resolver().Resolve(mess.Request{Intent: "turn on the strange porch light", Precision: mess.Exact})
	if o.Refusal == nil {
		t.Errorf("to be taken exactly: %q, want a refusal", got(o))
	}
}

// The trace has the words that the interpreter skips.
func TestTraceHasSkippedWords(t *testing.T) {
	o := resolver().Resolve(ask("turn off the security light on the porch"))
	if want := []string{"security"}; !slices.Equal(o.Explain.Leftover, want) || o.Explain.Capability != "switch-off" {
		t.Errorf("Explain = %+v, want %q left over", o.Explain, want)
	}
}
