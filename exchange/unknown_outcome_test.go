package exchange_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// unknownOutcomeStore is a store that returns ErrUnknown at random, after a write or instead of it.
type unknownOutcomeStore struct {
	exchange.Store
	chance *rand.Rand
}

func (u *unknownOutcomeStore) loseOutcome(stores func() error) error {
	var err error
	luck := u.chance.IntN(5)
	if luck > 0 {
		err = stores()
	}
	if luck > 1 {
		return err
	}
	return fmt.Errorf("the connection is lost: %w", thread.ErrUnknown)
}

func (u *unknownOutcomeStore) Append(ctx context.Context, s exchange.Step) (rev thread.Rev, err error) {
	err = u.loseOutcome(func() (err error) { rev, err = u.Store.Append(ctx, s); return err })
	return rev, err
}

func (u *unknownOutcomeStore) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (rev thread.Rev, err error) {
	err = u.loseOutcome(func() (err error) { rev, err = u.Store.Put(ctx, kind, id, doc, after); return err })
	return rev, err
}

// The store returns ErrUnknown: the exchange reads the result, stores each step once, and gives a
// true answer.
func TestUnknownStoreOutcome(t *testing.T) {
	withHarnessOver(t, &unknownOutcomeStore{memory.New(), rand.New(rand.NewPCG(1, 2))}, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "take-photo")
		h.register(garage, "take-photo")
		for i := range 12 {
			ref := h.send(agent, fmt.Sprintf("request: {id: r%d, intent: look, requires: [take-photo]}", i)).Ref
			h.send(kitchen, "status: {re: "+ref+", code: claimed}")
			h.wantError(garage, "status: {re: "+ref+", code: claimed}", mess.AlreadyClaimed)
			h.send(kitchen, "response: {re: "+ref+", content: [ok]}")
			h.wantStatus(ref, mess.Completed)
			if again := h.send(agent, fmt.Sprintf("request: {id: r%d, intent: look, requires: [take-photo]}", i)).Ref; again != ref {
				t.Errorf("the same request again is %s, want %s", again, ref)
			}
			if th := h.thread(ref); len(th.Messages) != 6 { // each of the three with its ack
				t.Errorf("%s has %d messages, want 6", ref, len(th.Messages))
			}
		}
		if n := len(h.x.Executors()); n != 2 {
			t.Errorf("%d executors, want 2", n)
		}
	})
}

// cutStore stores a new thread, and loses its connection before it says so.
type cutStore struct {
	exchange.Store
	next, cut atomic.Bool // next: at the next new thread
}

var errCut = fmt.Errorf("the connection is cut: %w", thread.ErrUnknown)

func (s *cutStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if s.cut.Load() {
		return "", errCut
	}
	s.cut.Store(s.next.CompareAndSwap(true, false))
	rev, err := s.Store.Append(ctx, step)
	if s.cut.Load() {
		return "", errCut
	}
	return rev, err
}

func (s *cutStore) Read(ctx context.Context, ref string) (exchange.Thread, thread.Rev, error) {
	if s.cut.Load() {
		return exchange.Thread{}, "", errCut
	}
	return s.Store.Read(ctx, ref)
}

// The store has a new thread, and its connection is cut before the exchange knows that. The same
// request again finds the thread, and executors get its offer.
func TestUnknownNewThreadIsOffered(t *testing.T) {
	feed := &heldFeed{Store: memory.New()}
	store := &cutStore{Store: feed}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "take-photo")
		sub := h.subscribe(kitchen, "")
		const request = "request: {id: r, intent: look, requires: [take-photo]}"
		gate := make(chan struct{})
		feed.gate.Store(&gate)
		store.next.Store(true)
		h.wantError(agent, request, mess.Unavailable)
		synctest.Wait()
		store.cut.Store(false)
		close(gate)
		ref := h.send(agent, request).Ref
		if got, want := sub.events(), "offer "+ref+" request"; !slices.Equal(got, []string{want}) {
			t.Errorf("events are %q, want %q", got, want)
		}
	})
}

// The exchange uses each ref once, also after a restart, after a step back of the clock, and after
// another exchange on the same store has used the next refs.
func TestRefIsUsedOnce(t *testing.T) {
	store := memory.New()
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		given := map[string]bool{}
		ask := func() string {
			ref := h.send(agent, "request: {intent: look}").Ref
			if given[ref] {
				t.Errorf("%s was given twice", ref)
			}
			given[ref] = true
			return ref
		}
		first := ask()
		h.advance(24 * time.Hour)
		ask()
		h.stop()
		h.clock = func() time.Time { return time.Now().Add(-24 * time.Hour) }
		h.open(exchange.DefaultConfig())
		if ref := ask(); ref[:10] != first[:10] || !strings.HasSuffix(ref, "-002") {
			t.Errorf("after the clock was set back comes %s, want the next of the day of %s", ref, first)
		}
		for i := range 100 { // by another exchange on the same store
			e := exchange.Envelope{Ref: fmt.Sprintf("%s-%03d", first[:10], 3+i), Requester: "x", Status: mess.Completed, Ver: 1}
			if _, err := store.Append(t.Context(), exchange.Step{Envelope: e}); err != nil {
				t.Fatal(err)
			}
			given[e.Ref] = true
		}
		ask()
		ask()
	})
}
