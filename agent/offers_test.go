package agent_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/mess"
)

// Thousands of offers may wait. One needs some hundred bytes.
func TestWaitingOfferNeedsLittleMemory(t *testing.T) {
	const offers, most = 10_000, 300 // bytes
	withHarness(t, func(h *harness) {
		h.connection.deliver(brokerOrder(t, "config: {hold: true}"))
		heap := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		for i := range offers {
			h.connection.deliver(mess.Message{From: "claude-agent", Re: mess.Refs{fmt.Sprintf("2026-11-21-%05d", i)}, Items: []mess.Item{
				&mess.Request{ID: fmt.Sprintf("r%05d", i), Intent: "turn on the porch light in a moment"},
			}})
		}
		took := (heap() - before) / offers
		t.Logf("%d bytes for an offer", took)
		if took > most {
			t.Errorf("an offer takes %d bytes, want %d at most", took, most)
		}
		for i := range offers {
			h.connection.deliver(mess.Message{Re: mess.Refs{fmt.Sprintf("2026-11-21-%05d", i)}, Items: []mess.Item{&mess.Status{Code: mess.Cancelled}}})
		}
		if left := (heap() - before) / offers; left > most/4 {
			t.Errorf("%d bytes are left of each offer that was withdrawn", left)
		}
	})
}

// A confirmation counts only for a plan that the requester has seen. One from before the plan
// does not.
func TestConfirmationBeforePlanIsIgnored(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.deliver(brokerOrder(t, "config: {hold: true}"))
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.connection.deliver(brokerOrder(t, "{from: claude-agent, re: "+ref+", MESS: [{request: {intent: vacuum both}}]}"))
		h.connection.deliver(brokerOrder(t, "{from: claude-agent, re: "+ref+", MESS: [{reply: {re: "+ref+", confirm: true}}]}"))
		h.connection.deliver(brokerOrder(t, "config: {resume: true}"))
		synctest.Wait()
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.advance(time.Hour)
		h.wantStatus(ref, mess.Completed)
	})
}
