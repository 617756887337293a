package capabilities_test

import (
	"testing"

	"github.com/messkit/messkit/mess"
)

// A request that names another in its context may point to it: to what it asks for, to its
// place and to its device.
func TestReferences(t *testing.T) {
	for _, tt := range []struct{ intent, before, want string }{
		{"the same again", "turn on the porch light", "switch-on porch-lamp"},
		{"do it again, please", "turn on the porch light", "switch-on porch-lamp"},
		{"again", "vacuum the kitchen", "? area: near sink, by stove, both"},
		{"turn on the light there", "take a photo of the porch", "switch-on porch-lamp"},
		{"is the light there on?", "take a photo of the porch", "read-switch porch-lamp"},
		{"turn it off", "turn on the porch light", "switch-off porch-lamp"},
		{"turn off the heater", "turn on the porch light", "switch-off heater"},
		{"the same again", "", "no: "},
		{"the same again", "the same again", "no: "},
		{"turn on the light there", "sing a song", "? device: porch light, reading lamp, ceiling light"},
		{"is there milk in the fridge?", "turn on the porch light", "check-visual fridge-cam"},
	} {
		req := ask(tt.intent)
		entry := mess.Entry{Type: "ref", Value: "first"}
		if tt.before != "" {
			entry.Extra = entry.Extra.Set("thread", "2026-11-21-001").Set("intent", tt.before)
		}
		req.Context = []mess.Entry{entry}
		expect(t, req, tt.want)
	}
	req := ask("the same again")
	for _, before := range []string{"turn on the porch light", "turn off the porch light"} {
		req.Context = append(req.Context, mess.Entry{Type: "ref", Value: "x", Extra: mess.Object{{Key: "intent", Value: before}}})
	}
	expect(t, req, "no: ") // nobody knows which
}
