package interpret_test

import (
	"testing"

	"github.com/messkit/messkit/mess"
)

// A request for a location gets the place of the device, or the place where it works.
func TestLocationHintGetsPlace(t *testing.T) {
	r := resolver()
	for intent, want := range map[string]string{
		"turn on the porch light": "porch", "take a photo of the fridge": "kitchen", "vacuum near the sink": "kitchen", "vacuum the hall": "hall",
		"what is the temperature in the bathroom": "bathroom",
	} {
		for _, hint := range []string{"", "text", "location"} {
			req := ask(intent)
			if hint != "" {
				req.ResponseHint = []mess.ResponseHint{{Type: hint}}
			}
			out := r.Resolve(req)
			if out.Plan == nil {
				t.Fatalf("%q: %+v, want a plan", intent, out)
			}
			if expect := map[bool]string{true: want}[hint == "location"]; out.Plan.Place != expect {
				t.Errorf("%q, hint %q: place %q, want %q", intent, hint, out.Plan.Place, expect)
			}
		}
	}
}
