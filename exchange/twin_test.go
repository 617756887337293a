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
			inHouse(t, func(h *house) {
				h.says(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], versions: [1.1.0], holding: [], instance: one}}")
				claim := func() string {
					ref := h.says(agent, "request: {intent: ring}").Ref
					h.says(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed, instance: one}}]")
					return ref
				}
				claimed, begun := claim(), claim()
				h.says(kitchen, "status: {re: "+begun+", code: in_progress, instance: one}")
				h.listens(kitchen, "")
				h.says(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], versions: [1.1.0], holding: [], instance: two}}")
				var told []mess.HeldThread
				for range 4 {
					h.after(10 * time.Second)
					if alive {
						h.says(kitchen, "config: {executor: {id: kitchen-pi, instance: one, holding: [{ref: "+claimed+", epoch: 1}, {ref: "+begun+", epoch: 1}]}}")
					}
					told = append(told, h.says(kitchen, "config: {executor: {id: kitchen-pi, instance: two, holding: []}}").Threads...)
				}
				if alive {
					h.is(claimed, mess.Claimed)
					h.is(begun, mess.InProgress)
					if len(told) > 0 {
						t.Errorf("the new process is told that it holds %+v", told)
					}
					return
				}
				h.is(claimed, mess.Pending)
				if len(told) < 2 || told[0].Ref != begun || told[0].Instance != "one" {
					t.Errorf("the new process is told of %+v, want at least twice of what has begun", told)
				}
			})
		})
	}
}
