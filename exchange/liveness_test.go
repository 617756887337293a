package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// An executor that polls or reports is alive, without heartbeats: a request does not end
// because another has declined it, and a preferred one keeps its time for an offer.
func TestPollingExecutorIsAlive(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [look]}}")
		h.send(garage, "config: {executor: {id: garage-pi, capabilities: [look]}}")
		h.send(person, "config: {routing: {rules: [{match: {capability: look}, prefer: [kitchen-pi]}]}}")
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		h.send(garage, "status: {re: "+ref+", code: declined, reason: {detail: too dark}}")
		for range 15 {
			h.advance(10 * time.Minute)
			if _, err := h.post(kitchen, "query: {type: executors}"); err != nil {
				t.Fatal(err)
			}
		}
		h.wantStatus(ref, mess.Pending)
		for _, e := range h.x.Executors() {
			if e.ID == kitchen.ID && (!e.Live || time.Since(e.LastSeen) > time.Minute) {
				t.Errorf("live %v, last seen %v", e.Live, e.LastSeen)
			}
		}
		h.send(garage, "config: {executor: {id: garage-pi, capabilities: [look]}}")
		sub := h.subscribe(garage, "")
		h.send(agent, "request: {intent: look again, requires: [look]}")
		if got := sub.events(); len(got) != 0 {
			t.Errorf("events of the second choice are %q while the first has its time, want none", got)
		}
		h.advance(61 * time.Second)
		if got := sub.events(); len(got) != 1 {
			t.Errorf("events of the second choice are %q after that, want the offer", got)
		}
	})
}
