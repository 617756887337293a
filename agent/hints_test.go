package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// For each kind of capability, the test requests every content. The delivered contents are
// true, and the notes explain the missing ones.
func TestEveryHintOfEveryCapability(t *testing.T) {
	const all = "image text confirmation structured location"
	for _, c := range []struct {
		intent        string
		gives         string // in this order
		wantConfirmed bool   // the expected confirmation
		place         string
		notes         string
	}{
		{"turn on the porch light", all, true, "porch", ""},
		{"turn on the hall light", "text confirmation structured location", true, "hall", "no camera sees the hall light"},
		{"set the hall light to 30 percent", "text confirmation structured location", true, "hall", "no camera sees the hall light"},
		{"is the porch light on?", all, false, "porch", ""},
		{"is the porch light off?", all, true, "porch", ""},
		{"tell me whether the hall light is off", "text confirmation structured location", true, "hall", "no camera sees the hall light"},
		{"are all lights off?", all, true, "hall", "no camera sees the hall light"},
		{"is any light on?", all, false, "hall", "no camera sees the hall light"},
		{"is the bedroom fan running?", "text confirmation structured location", false, "bedroom", "no camera sees the bedroom fan"},
		{"is the garage door closed?", "text confirmation structured location", true, "garage", "no camera sees the garage door"},
		{"is the garage door open?", "text confirmation structured location", false, "garage", "no camera sees the garage door"},
		{"is the front door lock unlocked?", "text confirmation structured location", false, "hall", "no camera sees the front door lock"},
		{"is there any motion in the hall?", "text confirmation structured location", false, "hall", "no camera sees the hall motion"},
		{"how warm is it in the hall?", "text structured location", false, "hall", "no confirmation: the answer to this is neither yes nor no"},
		{"what is in the fridge?", "image text structured location", false, "kitchen", "no confirmation: the answer to this is neither yes nor no"},
		{"is there milk in the fridge?", all, true, "kitchen", ""},
		{"are there eggs in the fridge?", all, true, "kitchen", ""},
		{"is there a cat in the fridge?", "image text structured location", false, "kitchen", "no confirmation: the observations do not say whether there is cat"},
		{"take a photo of the porch", "image text structured location", false, "porch", "no confirmation"},
		{"is the vacuum cleaning?", "text confirmation structured location", false, "living room", "no camera sees the vacuum"},
		{"is the vacuum docked?", "text confirmation structured location", true, "living room", "no camera sees the vacuum"},
		{"is the vacuum stuck?", "text structured location", false, "living room", "no confirmation: robot does not say whether it is so"},
		{"vacuum near the sink", all, true, "kitchen", ""},
		{"how is the print?", "text structured location", false, "office", "no camera sees the printer (seen_by); no confirmation"},
		{"drive the rover forward for 2 seconds", "text confirmation structured", true, "", "no location: the configuration does not say where rover is"},
		{"open the garage door", "text confirmation structured location", true, "garage", "no camera sees the garage door"},
	} {
		t.Run(c.intent, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) { h.useSimulatedHome(positionAt(true)) }, func(h *harness) {
				ref := h.send(requester, "request: {intent: \""+c.intent+"\", response_hint: [image, text, location, confirmation, structured]}")
				h.confirmAll(ref, time.Hour)
				h.wantStatus(ref, mess.Completed)
				_, r := h.last(ref)
				gives := map[string]bool{}
				place := ""
				for _, e := range r.Content {
					if _, text := e.Text(); text {
						gives["text"] = true
						continue
					}
					gives[e.Type] = true
					if confirmation, ok := e.Confirmation(); ok && confirmation.Confirmed != c.wantConfirmed {
						t.Errorf("confirmed: %v, want %v", confirmation.Confirmed, c.wantConfirmed)
					}
					if l, ok := e.Location(); ok && (place == "" || l.Name == c.place) {
						place = l.Name
					}
				}
				var list []string
				for _, kind := range strings.Fields(all) {
					if gives[kind] {
						list = append(list, kind)
					}
				}
				if got := strings.Join(list, " "); got != c.gives || place != c.place || !strings.Contains(r.Notes, c.notes) {
					t.Errorf("contents are %s (in %q), notes %q; want %s (in %q), %q", got, place, r.Notes, c.gives, c.place, c.notes)
				}
			})
		})
	}
}
