package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// earlierImageResolver resolves "that picture again" by the context, as the resolver does.
type earlierImageResolver struct{ sentences }

func (a earlierImageResolver) Resolve(req mess.Request) capabilities.Outcome {
	if req.Intent != "that picture again" {
		return a.sentences.Resolve(req)
	}
	thread, _ := req.Context[0].Extra.Get("thread")
	pictures, _ := req.Context[0].Extra.Get("pictures")
	return capabilities.Outcome{Plan: &capabilities.Plan{
		Device: "fridge-cam", Capability: "take-photo", Command: capabilities.EarlierImages, Effect: capabilities.Query, Risk: capabilities.RiskObserve, Reversible: true,
		Args: mess.Object{{Key: "thread", Value: thread}, {Key: "pictures", Value: pictures}},
	}}
}

// The agent sends an earlier image again with its own time and the ref of its thread. It does
// not count as a new image, and the camera captures none.
func TestEarlierImageKeepsItsTime(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.reads = earlierImageResolver{h.sentences} }, func(h *harness) {
		first := h.send(requester, `request: {id: look, intent: "what's in the fridge?"}`)
		h.advance(time.Minute)
		if s := h.wantStatus(first, mess.Completed); s.Evidence != mess.Photographed {
			t.Fatalf("%+v", s)
		}
		was := h.thread(first).Attachments()
		h.advance(time.Hour)
		h.fridge.broken = mess.Errorf(mess.Unavailable, "the camera is gone")
		ref := h.send(requester, "request: {intent: that picture again, context: [{ref: look}]}")
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.EvidenceUnknown {
			t.Errorf("evidence %s, though nothing was photographed", s.Evidence)
		}
		is := h.thread(ref).Attachments()
		if len(was) != 1 || len(is) != 1 || is[0].SHA256 != was[0].SHA256 {
			t.Fatalf("%+v, want the picture of %+v", is, was)
		}
		for _, m := range h.thread(ref).Messages {
			text := string(m.ListJSON())
			if strings.Contains(text, `"image"`) && m.From != requester.ID {
				if !strings.Contains(text, `"captured_at":"2000-01-01T00:00:00Z"`) || !strings.Contains(text, `"earlier":"`+first+`"`) || !strings.Contains(text, "The picture of "+first+" again, taken at 2000-01-01T00:00:00Z. It is not new") {
					t.Errorf("%s", text)
				}
			}
		}
	})
}
