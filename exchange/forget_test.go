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

// beating is an executor that sends heartbeats.
var beating = mess.Executor{Capabilities: looks.Capabilities, Holding: []mess.HeldThread{}}

// names are the executors on the list.
func (h *house) names() []string {
	var ids []string
	for _, e := range h.x.Executors() {
		ids = append(ids, e.ID)
	}
	return ids
}

// forgets deregisters an executor as an operator, which must succeed. It returns the number of
// stops that the executor has not confirmed.
func (h *house) forgets(id string) int {
	h.t.Helper()
	stops, err := h.x.Deregister(h.t.Context(), person, id)
	if err != nil {
		h.t.Fatalf("forget %s: %v", id, err)
	}
	return stops
}

// A deregistered executor is on no list, gets no offers, and no stop or drain of all waits for it.
func TestDeregisteredExecutorGetsNothing(t *testing.T) {
	inHouse(t, func(h *house) {
		h.heard(kitchen, beating)
		h.heard(garage, mess.Executor{Capabilities: []mess.Capability{{ID: "lift"}}, Holding: []mess.HeldThread{}})
		if _, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke"}); err != nil {
			t.Fatal(err)
		}
		h.after(time.Minute)
		if stops := h.forgets(kitchen.ID); stops != 1 {
			t.Errorf("%d stops are unconfirmed", stops)
		}
		if got := h.names(); !slices.Equal(got, []string{garage.ID}) {
			t.Errorf("on the list: %v", got)
		}
		if got := h.x.Deregistered(); !slices.Equal(got, []string{kitchen.ID}) {
			t.Errorf("forgotten: %v", got)
		}
		if list := h.x.Capabilities(nil); len(list) != 1 || list[0].ID != "lift" {
			t.Errorf("what can be asked for: %+v", list)
		}
		ref := h.says(agent, "request: {intent: look, requires: [look]}").Ref
		if m, err := h.try(agent, "query: {type: status, filter: {re: "+ref+"}}"); err != nil || len(m.Items) == 0 {
			t.Errorf("%v", err)
		}
		s, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "more smoke"})
		if err != nil || !slices.Equal(s.Executors, []string{garage.ID}) {
			t.Errorf("stopped: %v, %v", s.Executors, err)
		}
		hold, err := h.x.Drain(h.t.Context(), person, mess.DrainOrder{})
		if err != nil || !slices.Equal(hold.Executors, []string{garage.ID}) {
			t.Errorf("on hold: %v, %v", hold.Executors, err)
		}
		if _, err := h.x.Drain(h.t.Context(), person, mess.DrainOrder{Executors: mess.Refs{kitchen.ID}}); !errors.Is(err, mess.MissingReference) {
			t.Errorf("a hold of it: %v", err)
		}
	})
}

// A deregistered executor sends any message: it is on the list again with its earlier registration.
// It gets the stops from before, and the stops from the time when it was deregistered.
func TestDeregisteredExecutorReturns(t *testing.T) {
	for name, speaks := range map[string]func(*house){
		"a heartbeat":      func(h *house) { h.heard(kitchen, mess.Executor{Holding: []mess.HeldThread{}}) },
		"a registration":   func(h *house) { h.heard(kitchen, beating) },
		"it listens":       func(h *house) { h.listens(kitchen, "") },
		"what is refused":  func(h *house) { h.refuses(kitchen, "status: {re: 2000-01-01-099, code: claimed}", mess.NotFound) },
		"by the operator":  func(h *house) { h.says(person, "config: {executor: {id: kitchen-pi, holding: []}}") },
		"a file says it":   func(h *house) { _ = h.x.PostExternal(h.t.Context(), "2000-01-01-001", replied) },
		"after a restart":  func(h *house) { h.stop(); h.open(exchange.DefaultConfig()); h.heard(kitchen, mess.Executor{}) },
		"restarted before": func(h *house) { h.heard(kitchen, mess.Executor{}); h.stop(); h.open(exchange.DefaultConfig()) },
	} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.heard(kitchen, beating)
				before, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke"})
				if err != nil {
					t.Fatal(err)
				}
				h.after(time.Minute)
				h.forgets(kitchen.ID)
				meanwhile, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "more smoke"})
				if err != nil {
					t.Fatal(err)
				}
				h.says(agent, "request: {intent: look, requires: [look]}")
				speaks(h)
				list := h.x.Executors()
				if len(list) != 1 || list[0].ID != kitchen.ID || len(list[0].Capabilities) != 1 || len(h.x.Deregistered()) != 0 {
					t.Fatalf("on the list: %+v", list)
				}
				var told []string
				for _, s := range h.heard(kitchen, mess.Executor{}).Stops {
					told = append(told, s.ID)
				}
				if !slices.Equal(told, []string{before.ID, meanwhile.ID}) {
					t.Errorf("it is told of the stops %v", told)
				}
				if got := h.listens(kitchen, "").heard(); !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "stop") }) {
					t.Errorf("and hears %q", got)
				}
			})
		})
	}
}

var replied = mess.Message{From: kitchen.ID, Items: []mess.Item{&mess.Status{Code: mess.Declined, Message: "no"}}}

// A new thing by the name of a forgotten person is no person.
func TestNewExecutorWithOldNameIsNoPerson(t *testing.T) {
	inHouse(t, func(h *house) {
		h.comes(ana).stop()
		h.ears = nil
		h.after(2 * time.Hour)
		h.forgets(ana.ID)
		h.heard(ana, mess.Executor{Name: "Ana the robot", Capabilities: looks.Capabilities})
		if e := h.x.Executors()[0].Executor; exchange.IsPerson(e) || e.Name != "Ana the robot" {
			t.Errorf("it is %+v", e)
		}
	})
}

// Only an operator can deregister an executor, and only one that cannot act any more.
func TestDeregistrationIsLimited(t *testing.T) {
	inHouse(t, func(h *house) {
		refuses := func(who exchange.Actor, id string, why mess.ErrorCode, words string) {
			t.Helper()
			if _, err := h.x.Deregister(t.Context(), who, id); !errors.Is(err, why) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s forgets %s: %v", who.ID, id, err)
			}
			if why != mess.NotFound && !slices.Contains(h.names(), id) {
				t.Errorf("%s is not on the list", id)
			}
		}
		h.after(time.Hour)
		h.heard(kitchen, beating)
		refuses(agent, kitchen.ID, mess.Forbidden, "only operators forget executors")
		refuses(kitchen, kitchen.ID, mess.Forbidden, "only operators forget executors")
		refuses(person, "nobody", mess.NotFound, `"nobody" is no executor here`)
		h.after(10 * time.Second)
		refuses(person, kitchen.ID, mess.NotYet, "sent its last message 10s ago, and may act; if it is gone, forget it in 21s")
		e := h.listens(kitchen, "")
		h.after(time.Hour)
		refuses(person, kitchen.ID, mess.NotYet, "has a connection, and may act")
		ref := h.says(agent, "request: {intent: look, requires: [look]}").Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.says(kitchen, "status: {re: "+ref+", code: in_progress}")
		e.stop()
		h.ears = nil
		h.after(2 * time.Minute)
		refuses(person, kitchen.ID, mess.NotYet, "has open tasks ("+ref+")")
		h.after(2 * time.Hour)
		h.forgets(kitchen.ID)
		refuses(person, kitchen.ID, mess.NotFound, "is no executor here")
	})
}

// An operator cannot deregister an executor directly after a restart of the exchange, because the
// executor had no time to send a heartbeat.
func TestNoDeregistrationAfterRestart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.heard(kitchen, beating)
		h.after(time.Hour)
		h.stop()
		h.open(exchange.DefaultConfig())
		h.after(5 * time.Second)
		if _, err := h.x.Deregister(t.Context(), person, kitchen.ID); !errors.Is(err, mess.NotYet) || !strings.Contains(err.Error(), "the exchange started 5s ago") {
			t.Errorf("%v", err)
		}
		h.after(time.Minute)
		h.forgets(kitchen.ID)
		h.stop()
		h.open(exchange.DefaultConfig())
		if len(h.names()) != 0 || len(h.x.Deregistered()) != 1 {
			t.Errorf("after a restart on the list: %v", h.names())
		}
	})
}

// The disk is full: Deregister fails, and the executor stays on the list.
func TestDeregistrationFailsOnFullDisk(t *testing.T) {
	disk := &fills{Store: memory.New()}
	inHouseOver(t, disk, exchange.DefaultConfig(), func(h *house) {
		h.heard(kitchen, beating)
		h.after(time.Hour)
		disk.is = true
		if _, err := h.x.Deregister(t.Context(), person, kitchen.ID); !errors.Is(err, mess.Unavailable) {
			t.Errorf("%v", err)
		}
		if got := h.names(); !slices.Equal(got, []string{kitchen.ID}) {
			t.Errorf("on the list: %v", got)
		}
		disk.is = false
		h.forgets(kitchen.ID)
		disk.is = true // that it is there again counts all the same
		h.listens(kitchen, "")
		if got := h.names(); !slices.Equal(got, []string{kitchen.ID}) {
			t.Errorf("when it is back: %v", got)
		}
	})
}

// fills is a store whose disk may be full.
type fills struct {
	exchange.Store
	is bool
}

func (f *fills) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if f.is {
		return "", fmt.Errorf("write %s: %w", kind, syscall.ENOSPC)
	}
	return f.Store.Put(ctx, kind, id, doc, after)
}
