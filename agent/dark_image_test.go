package agent_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

// The agent sends an image on which nothing is visible and says so; the image is evidence
// neither of an act nor of a state.
func TestDarkImageIsNoEvidence(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 64)), nil); err != nil {
		t.Fatal(err)
	}
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Fit = picture.Fit
		on := capabilities.Plan{Command: capabilities.SetSwitch, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort, Args: mess.Object{{Key: "on", Value: true}}, Want: []string{"image"}}
		h.addDevice("it", &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{on: true}}, map[string]capabilities.Plan{"do it": on})
		h.more[0].SeenBy = "cam"
		h.addDevice("cam", &fakeCamera{data: b.Bytes()}, map[string]capabilities.Plan{"photo": {Command: capabilities.TakePhoto, Effect: capabilities.Query}})
	}, func(h *harness) {
		for intent, want := range map[string]mess.Evidence{"do it": mess.ReadBack, "photo": mess.Acknowledged} {
			ref := h.send(requester, "request: {intent: "+intent+"}")
			h.advance(time.Minute)
			if s := h.wantStatus(ref, mess.Completed); s.Evidence != want {
				t.Errorf("%s: evidence %q, want %q", intent, s.Evidence, want)
			}
			h.wantAnswer(ref, "the picture shows nothing: it is black")
			if data, _ := h.image(ref); len(data) == 0 {
				t.Errorf("%s: there is no picture", intent)
			}
		}
	})
}

// An unreadable image does not count: the answer does not mention one.
func TestUnreadableImageIsIgnored(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Fit = picture.Fit
		h.addDevice("cam", &fakeCamera{data: []byte("\xff\xd8\xff\xe0 cut off")}, map[string]capabilities.Plan{"photo": {Command: capabilities.TakePhoto, Effect: capabilities.Query}})
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: photo}")
		h.advance(time.Minute)
		s := h.wantStatus(ref, mess.Failed)
		if _, r := h.last(ref); s.Reason.Effect != mess.EffectNone || len(r.Content) > 0 {
			t.Errorf("%+v, and it answers %+v", s.Reason, r.Content)
		}
	})
}
