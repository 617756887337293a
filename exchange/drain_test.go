package exchange_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// A drained executor gets no offers and may claim nothing, but its claimed threads continue. The
// drain order outlives a restart of the exchange. After its end, the executor gets offers of the
// pending threads.
func TestDrainedExecutorGetsNoOffers(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		before := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		h.send(kitchen, "status: {re: "+before+", code: claimed}")
		waits := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		sub := h.subscribe(kitchen, "")
		sub.events()
		order := h.send(agent, "config: {hold: {id: mine, by: somebody else, why: the floor is wet}}").Drain
		if order == nil || order.ID == "mine" || order.By != agent.ID || len(order.Executors) != 1 {
			t.Fatalf("%+v", order)
		}
		if got := strings.Join(sub.events(), ","); !strings.HasPrefix(got, "hold  config,withdrawn "+waits+" status:pending") {
			t.Errorf("events of the executor are %s", got)
		}
		h.wantError(kitchen, "status: {re: "+waits+", code: claimed}", mess.NotYet, "drained by claude-agent: the floor is wet")
		h.send(kitchen, "status: {re: "+before+", code: in_progress}")
		h.stop()
		h.open(exchange.DefaultConfig())
		ack := h.send(agent, "request: {intent: look again, requires: [look]}")
		note, _ := ack.Extra.Get("note")
		if text, _ := note.(string); !strings.Contains(text, "kitchen-pi is drained by claude-agent: the floor is wet") {
			t.Errorf("ack to the requester is %v, want a note about the drain", ack.Extra)
		}
		sub = h.subscribe(kitchen, "")
		if got := strings.Join(sub.events(), ","); got != "hold  config" {
			t.Errorf("events after a restart are %s", got)
		}
		h.send(kitchen, "status: {re: "+before+", code: completed}")
		sub.events()
		if got := h.send(agent, "config: {resume: true}").Resume; got == nil || len(got.Executors) != 1 {
			t.Fatalf("%+v", got)
		}
		if got := strings.Join(sub.events(), ","); !strings.HasPrefix(got, "hold  config,offer ") || !strings.Contains(got, "offer "+waits) || !strings.Contains(got, "offer "+ack.Ref) {
			t.Errorf("events after that are %s", got)
		}
		h.send(kitchen, "status: {re: "+waits+", code: claimed}")
	})
}

// One executor is drained: the executors of the next rank get the offer at once.
func TestDrainOfOneExecutor(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		h.register(garage, "look")
		h.send(person, "config: {routing: {rules: [{match: {}, prefer: [kitchen-pi]}]}}")
		k, g := h.subscribe(kitchen, ""), h.subscribe(garage, "")
		h.send(person, "config: {hold: {executors: [kitchen-pi]}}")
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		if got := strings.Join(k.events(), ","); got != "hold  config" {
			t.Errorf("events of the kitchen are %s", got)
		}
		if got := strings.Join(g.events(), ","); got != "offer "+ref+" request" {
			t.Errorf("events of the garage are %s", got)
		}
	})
}

// The acks repeat an order until this process of the executor has confirmed it. They repeat a drain
// order for each later process.
func TestDrainOrderIsRepeatedUntilConfirmed(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.heartbeat(kitchen, looks)
		order, err := h.x.Drain(t.Context(), person, mess.DrainOrder{Reason: "wet"})
		if err != nil {
			t.Fatal(err)
		}
		if ack := h.heartbeat(kitchen, mess.Executor{}); ack.Drain == nil || ack.Drain.ID != order.ID || ack.Drain.Executors != nil || ack.Resume != nil {
			t.Errorf("not confirmed: %+v", ack)
		}
		taken := mess.Executor{Drained: &mess.DrainState{Orders: mess.Refs{order.ID}, Reason: "wet"}}
		if ack := h.heartbeat(kitchen, taken); ack.Drain != nil {
			t.Errorf("confirmed: %+v", ack)
		}
		if e := h.x.Executors()[0]; e.Drain == nil || e.Drained == nil || e.Drained.Reason != "wet" || e.DrainReason != "drained by teague: wet" {
			t.Errorf("%+v", e)
		}
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heartbeat(kitchen, mess.Executor{Capabilities: looks.Capabilities, Instance: "next", Drained: &mess.DrainState{}}); ack.Drain == nil {
			t.Errorf("ack to the next process is %+v, want the drain", ack)
		}
		h.heartbeat(kitchen, taken)
		end, err := h.x.Resume(t.Context(), person, mess.DrainOrder{})
		if err != nil || len(end.Executors) != 1 {
			t.Fatalf("%+v, %v", end, err)
		}
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heartbeat(kitchen, taken); ack.Resume == nil || ack.Resume.ID != end.ID || ack.Drain != nil {
			t.Errorf("the end, not confirmed: %+v", ack)
		}
		if ack := h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Orders: mess.Refs{order.ID, end.ID}}}); ack.Resume != nil {
			t.Errorf("the end, confirmed: %+v", ack)
		}
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{}}); ack.Drain != nil || ack.Resume != nil {
			t.Errorf("nothing is left: %+v", ack)
		}
	})
}

// An executor reports a drain order that it got from its broker: it gets no offers. If the executor
// reports the end of an order of the exchange, the order ends here too.
func TestDrainOrderFromBrokerApplies(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.heartbeat(kitchen, looks)
		h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Reason: "at its broker"}})
		sub := h.subscribe(kitchen, "")
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		if got := strings.Join(sub.events(), ","); got != "hold  config" {
			t.Errorf("events are %q, want the drain", got)
		}
		h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{}})
		h.advance(time.Millisecond)
		if got := strings.Join(sub.events(), ","); got != "offer "+ref+" request" {
			t.Errorf("events after that are %q, want the offer", got)
		}
		order, err := h.x.Drain(t.Context(), agent, mess.DrainOrder{})
		if err != nil {
			t.Fatal(err)
		}
		h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Orders: mess.Refs{order.ID}, Reason: "x"}})
		h.advance(time.Millisecond)
		sub.events()
		h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Orders: mess.Refs{order.ID}}})
		h.advance(time.Millisecond)
		if got := strings.Join(sub.events(), ","); got != "offer "+ref+" request" || h.x.Executors()[0].Drain != nil {
			t.Errorf("a hold that ended there: %q, %+v", got, h.x.Executors()[0].Drain)
		}
	})
}

// An executor reports a drain order from its broker. The exchange sends the order to the next
// process of the executor, also after a restart of the exchange, until the order ends, here or
// there.
func TestDrainOrderFromBrokerSurvivesRestart(t *testing.T) {
	withHarness(t, func(h *harness) {
		next := mess.Executor{Capabilities: looks.Capabilities, Instance: "next", Drained: &mess.DrainState{}}
		currentOrder := func() *mess.DrainOrder {
			t.Helper()
			h.heartbeat(kitchen, looks)
			ack := h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Reason: "wet, by the door, by anna"}})
			if ack.Drain == nil || ack.Drain.Reason != "wet, by the door" || ack.Drain.By != "anna" {
				t.Fatalf("%+v", ack)
			}
			return ack.Drain
		}
		order := currentOrder()
		h.wantError(kitchen, "status: {re: "+h.send(agent, "request: {intent: look}").Ref+", code: claimed}", mess.NotYet, "drained by anna: wet, by the door")
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heartbeat(kitchen, next); ack.Drain == nil || ack.Drain.ID != order.ID {
			t.Errorf("the next process: %+v", ack)
		}
		h.wantError(agent, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden, "anna")
		// The order ends there, by a process that knows it as an order of the exchange.
		if ack := h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Orders: mess.Refs{order.ID}}}); ack.Drain != nil || ack.Resume != nil {
			t.Errorf("ended there: %+v", ack)
		}
		if ack := h.heartbeat(kitchen, next); ack.Drain != nil || ack.Resume != nil {
			t.Errorf("the next process after the end: %+v", ack)
		}
		// The order ends there while the exchange's order was on its way: its end follows it.
		order = currentOrder()
		end := h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{}}).Resume
		if end == nil {
			t.Fatal("the end does not follow the order")
		}
		if ack := h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Orders: mess.Refs{order.ID}, Reason: "wet, by anna"}}); ack.Drain != nil || ack.Resume == nil || ack.Resume.ID != end.ID {
			t.Errorf("the late order: %+v", ack)
		}
		h.heartbeat(kitchen, mess.Executor{Drained: &mess.DrainState{Orders: mess.Refs{order.ID, end.ID}}})
		if e := h.x.Executors()[0]; e.DrainReason != "" || e.Drain != nil {
			t.Errorf("%+v", e)
		}
		// The operator ends the order here.
		currentOrder()
		if got, err := h.x.Resume(t.Context(), person, mess.DrainOrder{}); err != nil || len(got.Executors) != 1 {
			t.Fatalf("%+v %v", got, err)
		}
		if e := h.x.Executors()[0]; e.DrainReason != "" {
			t.Errorf("%+v", e)
		}
	})
}

// Requesters and operators may give drain orders. Only the actor that gave an order, or an
// operator, may end it.
func TestActorsThatMayDrain(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		h.register(garage, "look")
		for _, actor := range []exchange.Actor{watcher, garage} {
			h.wantError(actor, "config: {hold: true}", mess.Forbidden, actor.ID)
			h.wantError(actor, "config: {resume: true}", mess.Forbidden, actor.ID)
		}
		h.wantError(agent, "config: {hold: {executors: [nobody]}}", mess.MissingReference, "nobody")
		h.wantError(agent, "config: {resume: {executors: [nobody]}}", mess.MissingReference, "nobody")
		by := func() string {
			list := ""
			for _, e := range h.x.Executors() {
				if e.Drain != nil {
					list += e.ID + ":" + e.Drain.By + " "
				}
			}
			return list
		}
		ack := h.send(agent, "config: {hold: {executors: [kitchen-pi]}}")
		h.wantError(other, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden, "drained by claude-agent", "operator")
		if got := h.send(other, "config: {hold: true}").Drain; len(got.Executors) != 2 || by() != "garage-pi:other-agent kitchen-pi:claude-agent " {
			t.Errorf("%+v, %s", got, by())
		}
		if got := h.send(other, "config: {resume: true}").Resume; len(got.Executors) != 1 || by() != "kitchen-pi:claude-agent " {
			t.Errorf("one's own alone: %+v, %s", got, by())
		}
		h.send(person, "config: {hold: {executors: [kitchen-pi]}}")
		if by() != "kitchen-pi:teague " {
			t.Errorf("drain of the operator is %s, want kitchen-pi by teague", by())
		}
		h.send(agent, "config: {hold: {executors: [kitchen-pi]}}")
		h.wantError(agent, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden, "drained by teague")
		if got := h.send(agent, "config: {resume: true}").Resume; len(got.Executors) != 0 || by() != "kitchen-pi:teague " {
			t.Errorf("%+v, %s", got, by())
		}
		if got := h.send(person, "config: {resume: true}").Resume; len(got.Executors) != 1 || by() != "" || got.ID == ack.Drain.ID {
			t.Errorf("%+v, %s", got, by())
		}
	})
}

// failingDrainStore is a store that fails to store drain orders.
type failingDrainStore struct{ exchange.Store }

func (s failingDrainStore) Put(_ context.Context, kind, _ string, _ []byte, _ thread.Rev) (thread.Rev, error) {
	if kind == "hold" {
		return "", errors.New("no space")
	}
	return "", nil
}

// The disk is full: the drain order applies for now, and the sender gets an error.
func TestDrainOnFullDiskApplies(t *testing.T) {
	withHarnessOver(t, failingDrainStore{memory.New()}, exchange.DefaultConfig(), func(h *harness) {
		h.heartbeat(kitchen, looks)
		h.wantError(agent, "config: {hold: {why: wet}}", mess.Unavailable)
		if ack := h.heartbeat(kitchen, mess.Executor{}); ack.Drain == nil || ack.Drain.Reason != "wet" {
			t.Errorf("%+v", ack)
		}
	})
}

// An unreadable record counts as a drain order, and an operator can end it.
func TestUnreadableDrainRecordDrains(t *testing.T) {
	store := memory.New()
	overwrite(t, store, "hold", kitchen.ID, "{")
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		if ack := h.heartbeat(kitchen, looks); ack.Drain == nil || !strings.Contains(ack.Drain.Reason, "unreadable reason") {
			t.Errorf("%+v", ack)
		}
		h.wantError(agent, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden)
		if got := h.send(person, "config: {resume: true}").Resume; len(got.Executors) != 1 {
			t.Errorf("%+v", got)
		}
	})
}
