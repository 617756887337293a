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
			inHouse(t, func(h *house) {
				h.registers(kitchen, "look")
				h.registers(garage, "look")
				ref := h.says(agent, "request: {intent: look}").Ref
				h.says(garage, "status: {re: "+ref+", code: declined, reason: {detail: too dark}}")
				h.says(kitchen, "status: {re: "+ref+", code: claimed}")
				if c.begins != "" {
					h.says(kitchen, "status: {re: "+ref+", code: in_progress"+c.begins+"}")
				}
				h.after(2 * time.Hour)
				h.is(ref, mess.Failed)
				s := h.lastStatus(ref)
				if s.Reason == nil || s.Reason.Effect != c.effect || !strings.Contains(s.Reason.Detail, "kitchen-pi had it") {
					t.Errorf("it ended for %+v", s.Reason)
				}
			})
		})
	}
}
