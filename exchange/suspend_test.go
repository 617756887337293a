package exchange_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// The machine is suspended for hours: the lease of a claim ends. A started thread is held, and its
// executor has time to send a heartbeat before the exchange counts it as lost.
func TestLeaseEndsDuringSuspend(t *testing.T) {
	var slept atomic.Int64
	cfg := exchange.DefaultConfig()
	cfg.Slept = func() time.Duration { return time.Duration(slept.Load()) }
	withHarnessOver(t, memory.New(), cfg, func(h *harness) {
		started := h.startedThread("")
		claimed := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+claimed+", code: claimed}")
		h.sendHeartbeats(kitchen, claimed, "1", time.Second)
		slept.Store(int64(8 * time.Hour))
		h.advance(6 * time.Second)
		h.wantStatus(claimed, mess.Pending)
		h.wantStatus(started, mess.Held)
		h.send(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+started+", epoch: 1}]}}")
		h.advance(time.Second)
		h.wantStatus(started, mess.InProgress)
		h.advance(6 * time.Second)
		h.wantStatus(started, mess.InProgress) // the exchange counts the suspension once
	})
}
