package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// The answer contains the requested contents, and explains each missing one.
func TestAnswerContainsRequestedContents(t *testing.T) {
	on := capabilities.Plan{
		Device: "porch-lamp", Capability: "switch-on", Command: capabilities.SetSwitch, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort,
		Args: mess.Object{{Key: "on", Value: true}}, Want: []string{"location", "confirmation", "structured", "text", "audio"}, Place: "porch",
	}
	somewhere, look := on, capabilities.Plan{
		Device: "fridge-cam", Capability: "take-photo", Command: capabilities.TakePhoto, Effect: capabilities.Query, Risk: capabilities.RiskObserve,
		Want: []string{"image", "structured", "location", "confirmation"}, Place: "kitchen",
	}
	somewhere.Place = ""
	withHarnessSetup(t, func(h *harness) {
		h.sentences["on"] = capabilities.Outcome{Plan: &on}
		h.sentences["on somewhere"] = capabilities.Outcome{Plan: &somewhere}
		h.sentences["look"] = capabilities.Outcome{Plan: &look}
	}, func(h *harness) {
		for _, tt := range []struct {
			intent string
			types  []string // in addition to words
			place  string
			notes  string
		}{
			{"on", []string{"location", "confirmation", "structured"}, "porch", "no audio: no device here provides it"},
			{"on somewhere", []string{"confirmation", "structured"}, "", "no location: the configuration does not say where porch-lamp is (area)"},
			{"look", []string{"image", "location", "structured"}, "kitchen", "no confirmation: the answer to this is neither yes nor no"},
		} {
			ref := h.send(requester, "request: {intent: "+tt.intent+"}")
			h.wantStatus(ref, mess.Completed)
			r := h.wantAnswer(ref)
			var types []string
			hasText := false
			for _, e := range r.Content {
				if _, text := e.Text(); text {
					hasText = true
					continue
				}
				types = append(types, e.Type)
				if l, ok := e.Location(); ok && l.Name != tt.place {
					h.t.Errorf("%s: it is in %q, want %q", tt.intent, l.Name, tt.place)
				}
			}
			slices.Sort(types)
			slices.Sort(tt.types)
			if !hasText || !slices.Equal(types, tt.types) || !strings.Contains(r.Notes, tt.notes) {
				h.t.Errorf("%s: words %v, contents %v, notes %q; want %v and %q", tt.intent, hasText, types, r.Notes, tt.types, tt.notes)
			}
		}
	})
}
