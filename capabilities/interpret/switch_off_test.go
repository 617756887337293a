package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// Nothing switches a device on again after an order to switch it off for a time.
func TestOffForATimeIsRefused(t *testing.T) {
	text := func(intent string) mess.Request { return mess.Request{Intent: intent} }
	for _, req := range []mess.Request{
		text("turn off the porch light for 2 seconds"), text("can you turn off the porch light for an hour"),
		text("for ten minutes turn off the porch light"), text("could you turn the porch light off for 10 minutes?"),
		{Intent: "porch light", Requires: []mess.Capability{needs("switch-off", "for", "PT2S")}},
	} {
		o := resolver().Resolve(req)
		if o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "the porch light stays off until another order") {
			t.Errorf("Resolve(%q) = %q, want a refusal", req.Intent, got(o))
		}
	}
}
