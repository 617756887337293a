package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// heartbeatText is an executor that sends heartbeats.
var heartbeatText = mess.Executor{Capabilities: looks.Capabilities, Holding: []mess.HeldThread{}}

// executorNames are the executors on the list.
func (h *harness) executorNames() []string {
	var ids []string
	for _, e := range h.x.Executors() {
		ids = append(ids, e.ID)
	}
	return ids
}

// deregister deregisters an executor as an operator, which must succeed. It returns the number of
// stops that the executor has not confirmed.
func (h *harness) deregister(id string) int {
	h.t.Helper()
	stops, err := h.x.Deregister(h.t.Context(), person, id)
	if err != nil {
		h.t.Fatalf("forget %s: %v", id, err)
	}
	return stops
}

// A deregistered executor is on no list, gets no offers, and no stop or drain of all waits for it.
func TestDeregisteredExecutorGetsNothing(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.heartbeat(kitchen, heartbeatText)
		h.heartbeat(garage, mess.Executor{Capabilities: []mess.Capability{{ID: "lift"}}, Holding: []mess.HeldThread{}})
		if _, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke"}); err != nil {
			t.Fatal(err)
		}
		h.advance(time.Minute)
		if stops := h.deregister(kitchen.ID); stops != 1 {
			t.Errorf("%d stops are unconfirmed", stops)
		}
		if got := h.executorNames(); !slices.Equal(got, []string{garage.ID}) {
			t.Errorf("on the list: %v", got)
		}
		if got := h.x.Deregistered(); !slices.Equal(got, []string{kitchen.ID}) {
			t.Errorf("deregistered executors are %v, want the kitchen", got)
		}
		if list := h.x.Capabilities(nil); len(list) != 1 || list[0].ID != "lift" {
			t.Errorf("capabilities are %+v, want lift", list)
		}
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		if m, err := h.post(agent, "query: {type: status, filter: {re: "+ref+"}}"); err != nil || len(m.Items) == 0 {
			t.Errorf("%v", err)
		}
		s, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "more smoke"})
		if err != nil || !slices.Equal(s.Executors, []string{garage.ID}) {
			t.Errorf("stopped: %v, %v", s.Executors, err)
		}
		order, err := h.x.Drain(h.t.Context(), person, mess.DrainOrder{})
		if err != nil || !slices.Equal(order.Executors, []string{garage.ID}) {
			t.Errorf("drained: %v, %v", order.Executors, err)
		}
		if _, err := h.x.Drain(h.t.Context(), person, mess.DrainOrder{Executors: mess.Refs{kitchen.ID}}); !errors.Is(err, mess.MissingReference) {
			t.Errorf("a hold of it: %v", err)
		}
	})
}

// A deregistered executor sends any message: it is on the list again with its earlier registration.
// It gets the stops from before, and the stops from the time when it was deregistered.
func TestDeregisteredExecutorReturns(t *testing.T) {
	for name, send := range map[string]func(*harness){
		"a heartbeat":           func(h *harness) { h.heartbeat(kitchen, mess.Executor{Holding: []mess.HeldThread{}}) },
		"a registration":        func(h *harness) { h.heartbeat(kitchen, heartbeatText) },
		"it listens":            func(h *harness) { h.subscribe(kitchen, "") },
		"what is refused":       func(h *harness) { h.wantError(kitchen, "status: {re: 2000-01-01-099, code: claimed}", mess.NotFound) },
		"by the operator":       func(h *harness) { h.send(person, "config: {executor: {id: kitchen-pi, holding: []}}") },
		"a message from a file": func(h *harness) { _ = h.x.PostExternal(h.t.Context(), "2000-01-01-001", replyText) },
		"after a restart":       func(h *harness) { h.stop(); h.open(exchange.DefaultConfig()); h.heartbeat(kitchen, mess.Executor{}) },
		"restarted before":      func(h *harness) { h.heartbeat(kitchen, mess.Executor{}); h.stop(); h.open(exchange.DefaultConfig()) },
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.heartbeat(kitchen, heartbeatText)
				before, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke"})
				if err != nil {
					t.Fatal(err)
				}
				h.advance(time.Minute)
				h.deregister(kitchen.ID)
				meanwhile, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "more smoke"})
				if err != nil {
					t.Fatal(err)
				}
				h.send(agent, "request: {intent: look, requires: [look]}")
				send(h)
				list := h.x.Executors()
				if len(list) != 1 || list[0].ID != kitchen.ID || len(list[0].Capabilities) != 1 || len(h.x.Deregistered()) != 0 {
					t.Fatalf("on the list: %+v", list)
				}
				var currentOrder []string
				for _, s := range h.heartbeat(kitchen, mess.Executor{}).Stops {
					currentOrder = append(currentOrder, s.ID)
				}
				if !slices.Equal(currentOrder, []string{before.ID, meanwhile.ID}) {
					t.Errorf("stops are %v, want those before and meanwhile", currentOrder)
				}
				if got := h.subscribe(kitchen, "").events(); !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "stop") }) {
					t.Errorf("events are %q, want a stop", got)
				}
			})
		})
	}
}

var replyText = mess.Message{From: kitchen.ID, Items: []mess.Item{&mess.Status{Code: mess.Declined, Message: "no"}}}

// A new thing by the name of a forgotten person is no person.
func TestNewExecutorWithOldNameIsNoPerson(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.registerPerson(anna).stop()
		h.subscriptions = nil
		h.advance(2 * time.Hour)
		h.deregister(anna.ID)
		h.heartbeat(anna, mess.Executor{Name: "Ana the robot", Capabilities: looks.Capabilities})
		if e := h.x.Executors()[0].Executor; exchange.IsPerson(e) || e.Name != "Ana the robot" {
			t.Errorf("executor is %+v, want no person", e)
		}
	})
}

// Only an operator can deregister an executor, and only one that cannot act any more.
func TestDeregistrationIsLimited(t *testing.T) {
	withHarness(t, func(h *harness) {
		refuses := func(actor exchange.Actor, id string, reason mess.ErrorCode, words string) {
			t.Helper()
			if _, err := h.x.Deregister(t.Context(), actor, id); !errors.Is(err, reason) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s deregisters %s: %v", actor.ID, id, err)
			}
			if reason != mess.NotFound && !slices.Contains(h.executorNames(), id) {
				t.Errorf("%s is not on the list", id)
			}
		}
		h.advance(time.Hour)
		h.heartbeat(kitchen, heartbeatText)
		refuses(agent, kitchen.ID, mess.Forbidden, "only operators deregister executors")
		refuses(kitchen, kitchen.ID, mess.Forbidden, "only operators deregister executors")
		refuses(person, "nobody", mess.NotFound, `"nobody" is no executor here`)
		h.advance(10 * time.Second)
		refuses(person, kitchen.ID, mess.NotYet, "sent its last message 10s ago, and may act; if it is gone, forget it in 21s")
		e := h.subscribe(kitchen, "")
		h.advance(time.Hour)
		refuses(person, kitchen.ID, mess.NotYet, "has a connection, and may act")
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: in_progress}")
		e.stop()
		h.subscriptions = nil
		h.advance(2 * time.Minute)
		refuses(person, kitchen.ID, mess.NotYet, "has open tasks ("+ref+")")
		h.advance(2 * time.Hour)
		h.deregister(kitchen.ID)
		refuses(person, kitchen.ID, mess.NotFound, "is no executor here")
	})
}

// An operator cannot deregister an executor directly after a restart of the exchange, because the
// executor had no time to send a heartbeat.
func TestNoDeregistrationAfterRestart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.heartbeat(kitchen, heartbeatText)
		h.advance(time.Hour)
		h.stop()
		h.open(exchange.DefaultConfig())
		h.advance(5 * time.Second)
		if _, err := h.x.Deregister(t.Context(), person, kitchen.ID); !errors.Is(err, mess.NotYet) || !strings.Contains(err.Error(), "the exchange started 5s ago") {
			t.Errorf("%v", err)
		}
		h.advance(time.Minute)
		h.deregister(kitchen.ID)
		h.stop()
		h.open(exchange.DefaultConfig())
		if len(h.executorNames()) != 0 || len(h.x.Deregistered()) != 1 {
			t.Errorf("after a restart on the list: %v", h.executorNames())
		}
	})
}

// The disk is full: Deregister fails, and the executor stays on the list.
func TestDeregistrationFailsOnFullDisk(t *testing.T) {
	disk := &fullableStore{Store: memory.New()}
	withHarnessOver(t, disk, exchange.DefaultConfig(), func(h *harness) {
		h.heartbeat(kitchen, heartbeatText)
		h.advance(time.Hour)
		disk.full = true
		if _, err := h.x.Deregister(t.Context(), person, kitchen.ID); !errors.Is(err, mess.Unavailable) {
			t.Errorf("%v", err)
		}
		if got := h.executorNames(); !slices.Equal(got, []string{kitchen.ID}) {
			t.Errorf("on the list: %v", got)
		}
		disk.full = false
		h.deregister(kitchen.ID)
		disk.full = true // that it is there again counts all the same
		h.subscribe(kitchen, "")
		if got := h.executorNames(); !slices.Equal(got, []string{kitchen.ID}) {
			t.Errorf("when it is back: %v", got)
		}
	})
}

// fullableStore is a store whose disk may be full.
type fullableStore struct {
	exchange.Store
	full bool
}

func (f *fullableStore) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if f.full {
		return "", fmt.Errorf("write %s: %w", kind, syscall.ENOSPC)
	}
	return f.Store.Put(ctx, kind, id, doc, after)
}
