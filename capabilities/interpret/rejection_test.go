package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// The refusal of an impossible order quotes the text and says why.
func TestRefusalsQuoteTheText(t *testing.T) {
	r := interpret.New(catalog.Default(), exampleHome())
	for intent, want := range map[string]string{
		"undo":                       `"undo": a request does not know the one before it; "messkit cancel REF"`,
		"Cancel that, please":        `"Take it back" on its page`,
		"never mind":                 `to undo a finished one, give the opposite order`,
		"turn that off again":        `"that": no earlier request says what that is; say its name`,
		"take two photos of the sky": `"two photos": a request takes one picture`,
		"do it at 8:30 and 9:45":     `"at 8:30`,
		"das Licht im Bad":           `"im"`,
	} {
		o := r.Resolve(ask(intent))
		if o.Refusal == nil || !strings.Contains(o.Refusal.Reason, want) {
			t.Errorf("%q: %s, want %q", intent, got(o), want)
		}
	}
}

// The nearest names share a word with the text, or all but one letter.
func TestNearestSharesAWord(t *testing.T) {
	r := interpret.New(catalog.Default(), exampleHome())
	o := r.Resolve(ask("water the plants on the balcony"))
	if o.Refusal == nil || len(o.Refusal.Nearest) > 0 {
		t.Errorf("nearest to what nothing here does: %s, %+v", got(o), o.Refusal)
	}
	if o := r.Resolve(ask("im cold")); strings.Contains(got(o), `"im"`) {
		t.Errorf("a contraction where something begins: %s", got(o))
	}
}
