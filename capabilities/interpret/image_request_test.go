package interpret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// "and show me" is an image after the act, if a camera sees it. Every other word next to the act
// counts as before.
func TestImageAfterTheAct(t *testing.T) {
	for _, c := range []struct{ intent, want string }{
		{"turn on the porch light and show me", "switch-on porch-lamp"},
		{"Turn on the porch light, then show me a picture of it, please", "switch-on porch-lamp"},
		{"switch the porch light off and send me a photo", "switch-off porch-lamp"},
		{"turn on the porch light for ten minutes and then take a snapshot of the result", "switch-on porch-lamp"},
		{"please turn on the front door light and let me see it now", "switch-on porch-lamp"},
		{"could you turn on the porch light and show me?", "? go_ahead: yes, no"},

		{"turn on the heater and show me", `no: "and show me" is not possible: no camera sees the heater; leave it out, or name a camera for it (seen_by)`},
		{"turn on the light and show me", "? device: porch light, reading lamp, ceiling light"},
		{"turn on the porch light and show me the fridge", "several porch-lamp,fridge-cam"},
		{"turn on the porch light and send a photo to mum", "? go_ahead: yes, no"},
		{"turn on the porch light and show me tomorrow", "no: "},
		{"turn on the green porch light and show me", `no: of several things, "turn on the green porch light" is not possible: not understood`},
		{"do not turn on the porch light and show me", "no: "},
		{"turn on the porch light if it rains and show me", "? go_ahead: yes, no"},
		{"is the porch light on and show me", "no: "},
		{"and show me", "no: "},
		{"porch light and show me", "no: "},
	} {
		o := resolver().Resolve(ask(c.intent))
		if !strings.HasPrefix(got(o), c.want) {
			t.Errorf("Resolve(%q) = %q, want %q", c.intent, got(o), c.want)
		}
		if o.Plan != nil && o.Plan.Steps == nil && (!slices.Equal(o.Plan.Want, []string{"image"}) || !strings.HasSuffix(o.Plan.Summary, ", and take a photo of it")) {
			t.Errorf("Resolve(%q) wants %q: %s", c.intent, o.Plan.Want, o.Plan.Summary)
		}
	}
}

// An answer keeps the order for an image.
func TestAnswerKeepsTheImage(t *testing.T) {
	req := ask("turn on the light and show me")
	q := resolver().Resolve(req).Question
	o := resolver().Answer(*q, mess.Object{{Key: "device", Value: "porch light"}}, "", req)
	if o.Plan == nil || !slices.Contains(o.Plan.Want, capabilities.Image) {
		t.Errorf("%s, %+v", got(o), o.Plan)
	}
	if o = resolver().Answer(*q, mess.Object{{Key: "device", Value: "reading lamp"}}, "", req); o.Refusal == nil {
		t.Errorf("nothing sees the reading lamp: %s", got(o))
	}
}

// A vacuum that draws maps shows the cleaned area, and nothing else.
func TestVacuumShowsItsMap(t *testing.T) {
	home := exampleHome()
	for i := range home.Devices {
		home.Devices[i].DrawsMap = home.Devices[i].Name == "robot"
	}
	r := interpret.New(catalog.Default(), home)
	o := r.Resolve(ask("vacuum near the sink and show me"))
	if o.Plan == nil || !strings.HasSuffix(o.Plan.Summary, ", and show its map") || slices.Contains(o.Plan.Want, capabilities.Image) {
		t.Errorf("%s, %+v", got(o), o.Plan)
	}
	for _, text := range []string{"send the vacuum home and show me", "turn on the heater and show me"} {
		if o := r.Resolve(ask(text)); o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "no camera sees") {
			t.Errorf("%s: %s", text, got(o))
		}
	}
}

// An order for an image in the text and in response_hint is one image. With response_hint
// alone and without a camera, the executor does the act and says why there is no image.
func TestImageHintAndWordsAreOneImage(t *testing.T) {
	hint := []mess.ResponseHint{{Type: "text"}, {Type: "image"}}
	o := resolver().Resolve(mess.Request{Intent: "turn on the porch light and show me", ResponseHint: hint})
	if o.Plan == nil || !slices.Equal(o.Plan.Want, []string{"text", "image"}) {
		t.Errorf("%s, %+v", got(o), o.Plan)
	}
	if o = resolver().Resolve(mess.Request{Intent: "turn on the heater", ResponseHint: hint}); o.Plan == nil {
		t.Errorf("%s", got(o))
	}
}

// requires works with "and show me", and still wins over the text.
func TestRequiresWinsWithImage(t *testing.T) {
	for _, c := range []struct{ intent, id, want string }{
		{"turn on the porch light and show me", "switch-on", "switch-on porch-lamp"},
		{"turn on the porch light and show me", "switch-off", "no: "},
		{"turn on the porch light and show me the fridge", "switch-on", "no: "},
		{"take a photo of the porch and show me", "take-photo", "no: "},
	} {
		o := resolver().Resolve(mess.Request{Intent: c.intent, Requires: []mess.Capability{{ID: c.id}}})
		if !strings.HasPrefix(got(o), c.want) || o.Plan != nil && !slices.Contains(o.Plan.Want, capabilities.Image) {
			t.Errorf("Resolve(%q) with %s = %q %+v, want %q", c.intent, c.id, got(o), o.Plan, c.want)
		}
	}
}
