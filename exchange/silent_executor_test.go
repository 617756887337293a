package exchange_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// A thread ends with status failed if its executor is silent for too long. The reason names the
// silent executor, not another executor that has declined.
func TestSilentExecutorFailsThread(t *testing.T) {
	for name, c := range map[string]struct {
		begins string
		effect mess.Effect
	}{
		"before it began":      {"", mess.EffectNone},
		"after a question":     {", effect: query", mess.EffectNone},
		"after what is not so": {", effect: idempotent", mess.EffectUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.register(kitchen, "look")
				h.register(garage, "look")
				ref := h.send(agent, "request: {intent: look}").Ref
				h.send(garage, "status: {re: "+ref+", code: declined, reason: {detail: too dark}}")
				h.send(kitchen, "status: {re: "+ref+", code: claimed}")
				if c.begins != "" {
					h.send(kitchen, "status: {re: "+ref+", code: in_progress"+c.begins+"}")
				}
				h.advance(2 * time.Hour)
				h.wantStatus(ref, mess.Failed)
				s := h.lastStatus(ref)
				if s.Reason == nil || s.Reason.Effect != c.effect || !strings.Contains(s.Reason.Detail, "kitchen-pi had the claim") {
					t.Errorf("reason is %+v", s.Reason)
				}
			})
		})
	}
}
