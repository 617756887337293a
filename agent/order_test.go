package agent_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// With all places taken, the agent continues with the most urgent offer, not with the first.
func TestMostUrgentOfferIsNext(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.cfg.MaxThreads = 1
		h.lamp.set(func(l *lamp) { l.takes = 10 * time.Second })
	}, func(h *house) {
		first := h.says(claude, "request: {intent: turn on the porch light}")
		later := h.says(claude, "request: {intent: \"what's in the fridge?\", priority: background}")
		soon := h.says(claude, "request: {intent: turn on the porch light, constraints: {timing: {urgency: soon}}}")
		urgent := h.says(claude, "request: {intent: turn on the porch light, priority: urgent}")
		h.after(11 * time.Second)
		h.is(first, mess.Completed)
		h.is(urgent, mess.InProgress)
		h.is(soon, mess.Pending)
		h.after(10 * time.Second)
		h.is(soon, mess.InProgress)
		h.is(later, mess.Pending)
		h.after(10 * time.Second)
		h.is(later, mess.Completed)
	})
}
