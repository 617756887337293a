package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// A subscriber has the name of an executor and may be its new process. The claims of the old
// process stay while its heartbeats name them. Otherwise the exchange takes back a claim without
// a start, and reports the started thread to the new process.
func TestHeartbeatsNameTheirProcess(t *testing.T) {
	for name, alive := range map[string]bool{"the old process is dead": false, "the old process is alive": true} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], versions: [1.1.0], holding: [], instance: one}}")
				claim := func() string {
					ref := h.send(agent, "request: {intent: ring}").Ref
					h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed, instance: one}}]")
					return ref
				}
				claimed, started := claim(), claim()
				h.send(kitchen, "status: {re: "+started+", code: in_progress, instance: one}")
				h.subscribe(kitchen, "")
				h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], versions: [1.1.0], holding: [], instance: two}}")
				var currentOrder []mess.HeldThread
				for range 4 {
					h.advance(10 * time.Second)
					if alive {
						h.send(kitchen, "config: {executor: {id: kitchen-pi, instance: one, holding: [{ref: "+claimed+", epoch: 1}, {ref: "+started+", epoch: 1}]}}")
					}
					currentOrder = append(currentOrder, h.send(kitchen, "config: {executor: {id: kitchen-pi, instance: two, holding: []}}").Threads...)
				}
				if alive {
					h.wantStatus(claimed, mess.Claimed)
					h.wantStatus(started, mess.InProgress)
					if len(currentOrder) > 0 {
						t.Errorf("threads of the new process are %+v, want none", currentOrder)
					}
					return
				}
				h.wantStatus(claimed, mess.Pending)
				if len(currentOrder) < 2 || currentOrder[0].Ref != started || currentOrder[0].Instance != "one" {
					t.Errorf("threads of the new process are %+v, want the started one at least twice", currentOrder)
				}
			})
		})
	}
}
