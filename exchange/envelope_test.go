package exchange_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// readsCounted is a store that counts the reads of threads.
type readsCounted struct {
	exchange.Store
	reads atomic.Int32
}

func (s *readsCounted) Read(ctx context.Context, ref string) (exchange.Thread, thread.Rev, error) {
	s.reads.Add(1)
	return s.Store.Read(ctx, ref)
}

// Envelope returns an open thread without a read of the store, and only to actors that may see the
// thread.
func TestEnvelopeNeedsNoRead(t *testing.T) {
	store := &readsCounted{Store: memory.New()}
	inHouseOver(t, store, exchange.DefaultConfig(), func(h *house) {
		h.registers(kitchen, "take-photo")
		h.registers(garage, "open-door")
		ref := h.says(agent, "request: {id: a, intent: look, requires: [take-photo]}").Ref
		stands := func(who exchange.Actor, name string, want mess.Code) {
			t.Helper()
			e, err := h.x.Envelope(t.Context(), who, name)
			if err != nil || e.Ref != ref || e.Status != want {
				t.Errorf("%s hears of %s: %q is %q, %v; want %s is %s", who.ID, name, e.Ref, e.Status, err, ref, want)
			}
		}
		hidden := func(who exchange.Actor, name string) {
			t.Helper()
			e, err := h.x.Envelope(t.Context(), who, name)
			if r, ok := errors.AsType[*mess.Error](err); !ok || r.Code != mess.NotFound || e.Ref != "" {
				t.Errorf("%s hears of %s: %q, %v; want that it is unknown", who.ID, name, e.Ref, err)
			}
		}
		before := store.reads.Load()
		for _, who := range []exchange.Actor{agent, person, watcher, kitchen} {
			stands(who, ref, mess.Pending)
		}
		stands(agent, mess.Last, mess.Pending)
		hidden(other, ref)
		hidden(garage, ref)
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		stands(kitchen, ref, mess.Claimed)
		if n := store.reads.Load() - before; n != 0 {
			t.Errorf("an open thread was read %d times", n)
		}
		h.says(kitchen, "response: {re: "+ref+", content: [ok]}")
		stands(agent, ref, mess.Completed)
		stands(agent, "a", mess.Completed)
		hidden(other, ref)
		hidden(agent, "2026-01-31-001A")
	})
}
