package interpret_test

import (
	"strings"
	"testing"
)

// An order to tell, show or allow the speaker something is no order to do it.
func TestOrderForSpeakerIsNoOrder(t *testing.T) {
	for _, intent := range []string{
		"tell me to turn on the porch light", "ask me to turn off the heater", "let me unlock the front door lock", "have me turn off the heater", "get us to turn on the reading lamp",
		"show me the porch light on", "send me the heater off", "remind me to turn on the heater",
	} {
		if o := resolver().Resolve(ask(intent)); o.Plan != nil && o.Plan.Actuates() {
			t.Errorf("Resolve(%q) = %s", intent, got(o))
		}
	}
	for _, intent := range []string{"turn on the porch light for me", "show me the fridge"} {
		if o := resolver().Resolve(ask(intent)); o.Plan == nil || strings.Contains(got(o), "?") {
			t.Errorf("Resolve(%q) = %s", intent, got(o))
		}
	}
}
