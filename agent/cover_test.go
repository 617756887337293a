package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers/gpiocover"
	"github.com/messkit/messkit/internal/board/boardtest"
	"github.com/messkit/messkit/mess"
)

// A blind on two relays opens half way on request. Its position is an estimate; the answer says
// so and has no readback. Before the blind has been at an end, its position is unknown, and the
// request fails.
func TestBlindOnTwoRelaysReportsEstimate(t *testing.T) {
	chips := boardtest.Pi()
	const up, down = 17, 27
	withHarnessSetup(t, func(h *harness) {
		cfg := gpiocover.DefaultConfig()
		cfg.Up, cfg.Down, cfg.TravelTime = "GPIO17", "GPIO27", 20*time.Second
		d := gpiocover.New("kitchen-blind", cfg, chips)
		h.more = append(h.more, device.Device{Name: "kitchen-blind", Label: "kitchen blind", Driver: d})
		h.reads = resolver.New(catalog.Default(), []resolver.Device{{
			Device: capabilities.Device{Name: "kitchen-blind", Label: "kitchen blind", Class: "blind", Area: "kitchen"}, Driver: d,
		}})
	}, func(h *harness) {
		wantResult := func(intent string, code mess.Code, evidence mess.Evidence, words ...string) mess.Status {
			t.Helper()
			ref := h.send(requester, "request: {intent: "+intent+"}")
			h.advance(time.Minute)
			s := h.wantStatus(ref, code)
			if s.Evidence != evidence {
				t.Errorf("%s: evidence %q, want %q", intent, s.Evidence, evidence)
			}
			if code == mess.Completed {
				h.wantAnswer(ref, words...)
			} else if s.Reason == nil || !strings.Contains(s.Reason.Detail, words[0]) {
				t.Errorf("%s: %+v, want %q", intent, s.Reason, words[0])
			}
			if chips.Level("gpiochip0", up) || chips.Level("gpiochip0", down) {
				t.Errorf("%s: a relay is on", intent)
			}
			return s
		}
		s := wantResult("close the kitchen blind half way", mess.Failed, "", "the position is unknown; open or close the cover completely first")
		if s.Reason.Effect != mess.EffectNone || len(chips.Log("gpiochip0", down)) > 4 {
			t.Errorf("effect %q, lines %v", s.Reason.Effect, chips.Log("gpiochip0", down))
		}
		wantResult("open the kitchen blind", mess.Completed, mess.Acknowledged, "The kitchen blind is open.", "it stands at about 100 % open, estimated")
		wantResult("close the kitchen blind half way", mess.Completed, mess.Acknowledged, "The kitchen blind is 50 % open.", "it stands at about 50 % open, estimated from the run time of its motor, not measured")
		wantResult("how far open is the kitchen blind", mess.Completed, mess.Acknowledged, "50 % open (estimated)")
		// After a stop midway the blind stands still by readback, at an estimated position.
		ref := h.send(requester, "request: {intent: close the kitchen blind}")
		h.advance(4*time.Second + 500*time.Millisecond)
		if !chips.Level("gpiochip0", down) {
			t.Error("the relay of the cover is off, want on")
		}
		wantResult("stop the kitchen blind", mess.Completed, mess.ReadBack, "The kitchen blind has stopped.", "estimated")
		if s := h.wantStatus(ref, mess.Failed); s.Reason == nil || s.Reason.Effect != mess.EffectPartial {
			t.Errorf("reason of the stopped task is %+v, want a partial effect", s.Reason)
		}
		ref = h.send(requester, "request: {intent: open the kitchen blind}")
		h.advance(5 * time.Second)
		h.wantStatus(ref, mess.InProgress)
		if !chips.Level("gpiochip0", up) {
			t.Error("the relay of the cover is off, want on")
		}
		h.postStop(requester)
		if chips.Level("gpiochip0", up) || chips.Level("gpiochip0", down) {
			t.Error("a relay is on after a stop")
		}
	})
}
