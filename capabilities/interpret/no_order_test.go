package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// A text that excludes, asks about the past, or withdraws an order is no order, and leads
// to no question about the rest of it.
func TestNonOrdersLeadToNoQuestion(t *testing.T) {
	r := interpret.New(catalog.Default(), exampleHome())
	for _, intent := range []string{
		"turn on none of the lights",
		"turn on neither light",
		"nobody turn on the porch light",
		"turn on all the lights minus the porch light",
		"turn on any light other than the porch light",
		"turn on the porch light rather than the hall light",
		"turn on half of the lights",
		"undo turn on the porch light",
		"ignore this: turn on the porch light",
	} {
		if o := r.Resolve(ask(intent)); !strings.Contains(got(o), "excludes something") {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
	for _, intent := range []string{"would you have turned on the porch light", "have you turned on the porch light", "had you turned on the porch light"} {
		if o := r.Resolve(ask(intent)); o.Plan != nil && o.Plan.Actuates() {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
}

// If a word ends something, the question does not offer a start.
func TestStopIsNotOfferedAsStart(t *testing.T) {
	r := interpret.New(catalog.Default(), exampleHome())
	for _, intent := range []string{
		"stop the vacuum cleaning the kitchen", "pause the vacuum, then go on", "quit the vacuum cleaning the kitchen", "send the vacuum away", "stop turning the hall light on",
	} {
		if o := r.Resolve(ask(intent)); o.Question != nil || o.Plan != nil {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
}
