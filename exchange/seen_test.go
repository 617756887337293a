package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// An executor that polls or reports is alive, without heartbeats: a request does not end
// because another has declined it, and a preferred one keeps its time for an offer.
func TestPollingExecutorIsAlive(t *testing.T) {
	inHouse(t, func(h *house) {
		h.says(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [look]}}")
		h.says(garage, "config: {executor: {id: garage-pi, capabilities: [look]}}")
		h.says(person, "config: {routing: {rules: [{match: {capability: look}, prefer: [kitchen-pi]}]}}")
		ref := h.says(agent, "request: {intent: look, requires: [look]}").Ref
		h.says(garage, "status: {re: "+ref+", code: declined, reason: {detail: too dark}}")
		for range 15 {
			h.after(10 * time.Minute)
			if _, err := h.try(kitchen, "query: {type: executors}"); err != nil {
				t.Fatal(err)
			}
		}
		h.is(ref, mess.Pending)
		for _, e := range h.x.Executors() {
			if e.ID == kitchen.ID && (!e.Live || time.Since(e.LastSeen) > time.Minute) {
				t.Errorf("live %v, last seen %v", e.Live, e.LastSeen)
			}
		}
		h.says(garage, "config: {executor: {id: garage-pi, capabilities: [look]}}")
		ear := h.listens(garage, "")
		h.says(agent, "request: {intent: look again, requires: [look]}")
		if got := ear.heard(); len(got) != 0 {
			t.Errorf("the second choice hears %q while the first has its time", got)
		}
		h.after(61 * time.Second)
		if got := ear.heard(); len(got) != 1 {
			t.Errorf("the second choice hears %q after that", got)
		}
	})
}
