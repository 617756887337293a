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
	inHouseOver(t, memory.New(), cfg, func(h *house) {
		begun := h.begun("")
		claimed := h.says(agent, "request: {intent: look}").Ref
		h.says(kitchen, "status: {re: "+claimed+", code: claimed}")
		h.beats(kitchen, claimed, "1", time.Second)
		slept.Store(int64(8 * time.Hour))
		h.after(6 * time.Second)
		h.is(claimed, mess.Pending)
		h.is(begun, mess.Held)
		h.says(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+begun+", epoch: 1}]}}")
		h.after(time.Second)
		h.is(begun, mess.InProgress)
		h.after(6 * time.Second)
		h.is(begun, mess.InProgress) // the exchange counts the suspension once
	})
}
