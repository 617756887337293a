package interpret_test

import (
	"slices"
	"testing"

	"github.com/messkit/messkit/mess"
)

// The names in a refusal begin with the one closest to the words, and are few.
func TestNearestNamesStandFirst(t *testing.T) {
	r := resolver()
	for _, tt := range []struct{ ask, first string }{
		{"turn on the porch lite", "porch light"},
		{"vacuum the garden", "vacuum-floor"},
		{"take a photo of the frige", "fridge camera"},
		{"turn on the sauna", "switch-on"},
		{"turn off the sauna", "switch-off"},
	} {
		out := r.Resolve(mess.Request{Intent: tt.ask})
		if out.Refusal == nil {
			t.Errorf("%q: %+v", tt.ask, out)
			continue
		}
		near := out.Refusal.Nearest
		if len(near) == 0 || len(near) > 5 || near[0] != tt.first || len(slices.Compact(slices.Sorted(slices.Values(near)))) != len(near) {
			t.Errorf("%q: nearest %q, want %s first", tt.ask, near, tt.first)
		}
	}
}
