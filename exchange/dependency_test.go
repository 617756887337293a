package exchange_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// requestWithDependency makes a request that may depend on later requests.
func (h *harness) requestWithDependency(text string) (mess.Ack, error) {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatal(err)
	}
	answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: agent, Channel: "test", Message: m, DependsOnLater: true})
	if err != nil {
		return mess.Ack{}, err
	}
	return *answer.Items[0].(*mess.Ack), nil
}

// mustRequestWithDependency is ahead for a request that the exchange must accept. It returns the ref.
func (h *harness) mustRequestWithDependency(text string) string {
	h.t.Helper()
	ack, err := h.requestWithDependency(text)
	if err != nil {
		h.t.Fatal(err)
	}
	return ack.Ref
}

// A request may come before the one that it depends on: it waits for it, also over a
// restart, and a dependency that fails ends it.
func TestRequestWaitsForUnknownDependency(t *testing.T) {
	store := memory.New()
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "cook")
		second := h.mustRequestWithDependency("request: {id: second, intent: cook, constraints: {depends_on: [first]}}")
		third := h.mustRequestWithDependency("request: {id: third, intent: eat, constraints: {depends_on: [second, other]}}")
		h.wantError(kitchen, "status: {re: "+second+", code: claimed}", mess.NotYet, "first, which does not exist yet")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.register(kitchen, "cook")

		h.send(person, "request: {id: first, intent: of somebody else}") // it is not the requester's
		for _, circle := range []string{"{id: first, intent: buy, constraints: {depends_on: [third]}}", "{id: own, intent: x, constraints: {depends_on: [own]}}"} {
			if _, err := h.requestWithDependency("request: " + circle); err == nil {
				t.Errorf("%s is taken", circle)
			}
		}
		first := h.send(agent, "request: {id: first, intent: buy}").Ref
		h.wantError(kitchen, "status: {re: "+second+", code: claimed}", mess.NotYet)
		h.send(kitchen, "status: {re: "+first+", code: claimed}")
		h.send(kitchen, "response: {re: "+first+", content: [bought]}")
		h.advance(time.Second)
		h.send(kitchen, "status: {re: "+second+", code: claimed}")
		h.send(kitchen, "response: {re: "+second+", content: [cooked]}")
		h.advance(time.Second)
		h.wantError(kitchen, "status: {re: "+third+", code: claimed}", mess.NotYet, "other")

		other := h.send(agent, "request: {id: other, intent: lay the table}").Ref
		h.send(agent, "cancel: {re: "+other+"}")
		h.advance(time.Second)
		h.wantStatus(third, mess.Failed)
		if s := h.lastStatus(third); s.Reason.Type != "dependency" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("reason = %+v", s.Reason)
		}
	})
}

// cookAfterPurchase makes a request whose dependency ends, and stops the exchange. It returns the ref
// of the request.
func (h *harness) cookAfterPurchase() string {
	h.t.Helper()
	h.register(kitchen, "cook")
	second := h.mustRequestWithDependency("request: {id: second, intent: cook, constraints: {depends_on: [first]}}")
	first := h.send(agent, "request: {id: first, intent: buy}").Ref
	h.send(kitchen, "status: {re: "+first+", code: claimed}")
	h.send(kitchen, "response: {re: "+first+", content: [bought]}")
	h.stop()
	return second
}

// A dependency that ended before a restart of the exchange: the exchange finds it by the client id,
// and the request that waits for it can start.
func TestDependencyEndedBeforeRestart(t *testing.T) {
	store := memory.New()
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		second := h.cookAfterPurchase()
		h.open(exchange.DefaultConfig())
		h.register(kitchen, "cook")
		h.send(kitchen, "status: {re: "+second+", code: claimed}")
	})
}

// withoutThread is a store that has a thread in its feed, and fails to read it.
type withoutThread struct {
	exchange.Store
	ref string
	err error
}

func (s withoutThread) Read(ctx context.Context, ref string) (exchange.Thread, thread.Rev, error) {
	if ref == s.ref {
		return exchange.Thread{}, "", s.err
	}
	return s.Store.Read(ctx, ref)
}

// A person has damaged or removed the folder of a thread that an open thread depends on: the
// exchange starts. Its feed still says how the thread ended.
func TestUnreadableDependencyDoesNotPreventStart(t *testing.T) {
	for _, why := range []error{errors.New("the folder is damaged"), exchange.ErrNoThread} {
		t.Run(why.Error(), func(t *testing.T) {
			store := memory.New()
			withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
				h.register(kitchen, "cook")
				first := h.send(agent, "request: {id: first, intent: buy}").Ref
				second := h.send(agent, "request: {intent: cook, constraints: {depends_on: [first]}}").Ref
				h.send(kitchen, "status: {re: "+first+", code: claimed}")
				h.stop()
				e := h.thread(first).Envelope
				e.Status, e.Ver = mess.Completed, e.Ver+1
				if _, err := store.Append(h.t.Context(), exchange.Step{After: e.Rev, Envelope: e}); err != nil {
					t.Fatal(err)
				}
				h.store = withoutThread{store, first, why}
				h.open(exchange.DefaultConfig())
				h.register(kitchen, "cook")
				h.send(kitchen, "status: {re: "+second+", code: claimed}")
			})
		})
	}
}

// A dependency that the exchange does not know at all keeps a thread waiting, and prevents no start.
func TestUnknownDependencyDoesNotPreventStart(t *testing.T) {
	store := memory.New()
	e := exchange.Envelope{Ref: "2026-02-01-002", Requester: agent.ID, Status: mess.Pending, Ver: 1, DependsOn: []string{"2026-02-01-001"}}
	if _, err := store.Append(t.Context(), exchange.Step{Envelope: e}); err != nil {
		t.Fatal(err)
	}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "cook")
		h.wantError(kitchen, "status: {re: 2026-02-01-002, code: claimed}", mess.NotYet, "depends on 2026-02-01-001")
	})
}

// brokenLookup is a store that fails to look up a client id until it is repaired.
type brokenLookup struct {
	exchange.Store
	name     string
	repaired atomic.Bool
	failures atomic.Int32
}

func (s *brokenLookup) Lookup(ctx context.Context, k thread.Key) (string, error) {
	if k.Name == s.name && !s.repaired.Load() {
		s.failures.Add(1)
		return "", errors.New("the disk has an error")
	}
	return s.Store.Lookup(ctx, k)
}

// A thread depends on one that the exchange cannot read at its start. The exchange tries again, less
// and less often, and the thread can start after the disk works again.
func TestUnreadableDependencyIsReadLater(t *testing.T) {
	store := memory.New()
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		second := h.cookAfterPurchase()
		broken := &brokenLookup{Store: store, name: "first"}
		h.store = broken
		h.open(exchange.DefaultConfig())
		h.register(kitchen, "cook")
		h.advance(time.Hour)
		if n := broken.failures.Load(); n < 40 || n > 130 {
			t.Errorf("%d attempts within an hour, want about one a minute", n)
		}
		h.wantError(kitchen, "status: {re: "+second+", code: claimed}", mess.NotYet)
		broken.repaired.Store(true)
		h.advance(2 * time.Minute)
		h.send(kitchen, "status: {re: "+second+", code: claimed}")
	})
}
