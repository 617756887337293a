package agent_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// With all places taken, the agent continues with the most urgent offer, not with the first.
func TestMostUrgentOfferIsNext(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.MaxThreads = 1
		h.lamp.set(func(l *lamp) { l.takes = 10 * time.Second })
	}, func(h *harness) {
		first := h.send(requester, "request: {intent: turn on the porch light}")
		later := h.send(requester, "request: {intent: \"what's in the fridge?\", priority: background}")
		soon := h.send(requester, "request: {intent: turn on the porch light, constraints: {timing: {urgency: soon}}}")
		urgent := h.send(requester, "request: {intent: turn on the porch light, priority: urgent}")
		h.advance(11 * time.Second)
		h.wantStatus(first, mess.Completed)
		h.wantStatus(urgent, mess.InProgress)
		h.wantStatus(soon, mess.Pending)
		h.advance(10 * time.Second)
		h.wantStatus(soon, mess.InProgress)
		h.wantStatus(later, mess.Pending)
		h.advance(10 * time.Second)
		h.wantStatus(later, mess.Completed)
	})
}
