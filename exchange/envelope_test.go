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
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "take-photo")
		h.register(garage, "open-door")
		ref := h.send(agent, "request: {id: a, intent: look, requires: [take-photo]}").Ref
		wantStatus := func(actor exchange.Actor, name string, want mess.Code) {
			t.Helper()
			e, err := h.x.Envelope(t.Context(), actor, name)
			if err != nil || e.Ref != ref || e.Status != want {
				t.Errorf("envelope for %s of %s: %q is %q, %v; want %s is %s", actor.ID, name, e.Ref, e.Status, err, ref, want)
			}
		}
		hidden := func(actor exchange.Actor, name string) {
			t.Helper()
			e, err := h.x.Envelope(t.Context(), actor, name)
			if r, ok := errors.AsType[*mess.Error](err); !ok || r.Code != mess.NotFound || e.Ref != "" {
				t.Errorf("envelope for %s of %s: %q, %v; want NotFound", actor.ID, name, e.Ref, err)
			}
		}
		before := store.reads.Load()
		for _, actor := range []exchange.Actor{agent, person, watcher, kitchen} {
			wantStatus(actor, ref, mess.Pending)
		}
		wantStatus(agent, mess.Last, mess.Pending)
		hidden(other, ref)
		hidden(garage, ref)
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		wantStatus(kitchen, ref, mess.Claimed)
		if n := store.reads.Load() - before; n != 0 {
			t.Errorf("an open thread was read %d times", n)
		}
		h.send(kitchen, "response: {re: "+ref+", content: [ok]}")
		wantStatus(agent, ref, mess.Completed)
		wantStatus(agent, "a", mess.Completed)
		hidden(other, ref)
		hidden(agent, "2026-01-31-001A")
	})
}
