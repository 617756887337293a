package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// A request that names another one in its context may refer to its order, to its place and
// to its device.
func TestReferences(t *testing.T) {
	for _, tt := range []struct{ intent, before, want string }{
		{"the same again", "turn on the porch light", "switch-on porch-lamp"},
		{"do it again, please", "turn on the porch light", "switch-on porch-lamp"},
		{"again", "vacuum the kitchen", "? area: near sink, by stove, both"},
		{"turn on the light there", "take a photo of the porch", "switch-on porch-lamp"},
		{"is the light there on?", "take a photo of the porch", "read-switch porch-lamp"},
		{"turn it off", "turn on the porch light", "switch-off porch-lamp"},
		{"turn off the heater", "turn on the porch light", "switch-off heater"},
		{"take a new picture of that", "take a photo of the fridge", "take-photo fridge-cam"},
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
	for text, want := range map[string]string{
		"send me the picture of that again":   "earlier fridge-cam",
		"show me that picture again, please":  "earlier fridge-cam",
		"the same picture":                    "earlier fridge-cam",
		"I'd like the earlier photo":          "earlier fridge-cam",
		"take a picture of that again":        "take-photo fridge-cam",
		"a new picture of that":               "",
		"send me a new picture of that":       "",
		"send me the picture of the porch":    "",
		"the same again":                      "take-photo fridge-cam",
		"turn on the porch light there again": "",
	} {
		for _, pictures := range []any{nil, []any{mess.Object{{Key: "file", Value: "att-002-image-fridge.jpg"}}}} {
			req := ask(text)
			entry := mess.Entry{Type: "ref", Value: "first", Extra: mess.Object{{Key: "thread", Value: "2026-11-21-001"}, {Key: "intent", Value: "take a photo of the fridge"}}}
			if pictures != nil {
				entry.Extra = entry.Extra.Set("pictures", pictures)
			}
			req.Context = []mess.Entry{entry}
			o := resolver().Resolve(req)
			earlier := o.Plan != nil && o.Plan.Command == capabilities.EarlierImages
			switch {
			case earlier != (pictures != nil && strings.HasPrefix(want, "earlier ")):
				t.Errorf("%q, pictures %v: %s", text, pictures, got(o))
			case earlier && (o.Plan.Device != "fridge-cam" || o.Plan.Actuates() || o.Plan.Summary != "send the picture of 2026-11-21-001 again"):
				t.Errorf("%q: %+v", text, o.Plan)
			case pictures == nil && strings.HasPrefix(want, "earlier ") && (o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "2026-11-21-001 has no picture")):
				t.Errorf("%q without a picture: %s", text, got(o))
			case strings.HasPrefix(want, "take") && got(o) != want:
				t.Errorf("%q: %s, want %s", text, got(o), want)
			}
		}
	}
	req := ask("the same again")
	for _, before := range []string{"turn on the porch light", "turn off the porch light"} {
		req.Context = append(req.Context, mess.Entry{Type: "ref", Value: "x", Extra: mess.Object{{Key: "intent", Value: before}}})
	}
	expect(t, req, "no: ") // ambiguous
}
