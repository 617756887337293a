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
	inHouse(t, func(h *house) {
		h.registers(kitchen, "look")
		before := h.says(agent, "request: {intent: look, requires: [look]}").Ref
		h.says(kitchen, "status: {re: "+before+", code: claimed}")
		waits := h.says(agent, "request: {intent: look, requires: [look]}").Ref
		ear := h.listens(kitchen, "")
		ear.heard()
		hold := h.says(agent, "config: {hold: {id: mine, by: somebody else, why: the floor is wet}}").Drain
		if hold == nil || hold.ID == "mine" || hold.By != agent.ID || len(hold.Executors) != 1 {
			t.Fatalf("%+v", hold)
		}
		if got := strings.Join(ear.heard(), ","); !strings.HasPrefix(got, "hold  config,withdrawn "+waits+" status:pending") {
			t.Errorf("the executor hears %s", got)
		}
		h.refuses(kitchen, "status: {re: "+waits+", code: claimed}", mess.NotYet, "on hold by claude-agent: the floor is wet")
		h.says(kitchen, "status: {re: "+before+", code: in_progress}")
		h.stop()
		h.open(exchange.DefaultConfig())
		ack := h.says(agent, "request: {intent: look again, requires: [look]}")
		note, _ := ack.Extra.Get("note")
		if text, _ := note.(string); !strings.Contains(text, "kitchen-pi is on hold by claude-agent: the floor is wet") {
			t.Errorf("the requester is told %v", ack.Extra)
		}
		ear = h.listens(kitchen, "")
		if got := strings.Join(ear.heard(), ","); got != "hold  config" {
			t.Errorf("after a restart it hears %s", got)
		}
		h.says(kitchen, "status: {re: "+before+", code: completed}")
		ear.heard()
		if got := h.says(agent, "config: {resume: true}").Resume; got == nil || len(got.Executors) != 1 {
			t.Fatalf("%+v", got)
		}
		if got := strings.Join(ear.heard(), ","); !strings.HasPrefix(got, "hold  config,offer ") || !strings.Contains(got, "offer "+waits) || !strings.Contains(got, "offer "+ack.Ref) {
			t.Errorf("then it hears %s", got)
		}
		h.says(kitchen, "status: {re: "+waits+", code: claimed}")
	})
}

// One executor is drained: the executors of the next rank get the offer at once.
func TestDrainOfOneExecutor(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "look")
		h.registers(garage, "look")
		h.says(person, "config: {routing: {rules: [{match: {}, prefer: [kitchen-pi]}]}}")
		k, g := h.listens(kitchen, ""), h.listens(garage, "")
		h.says(person, "config: {hold: {executors: [kitchen-pi]}}")
		ref := h.says(agent, "request: {intent: look, requires: [look]}").Ref
		if got := strings.Join(k.heard(), ","); got != "hold  config" {
			t.Errorf("the kitchen hears %s", got)
		}
		if got := strings.Join(g.heard(), ","); got != "offer "+ref+" request" {
			t.Errorf("the garage hears %s", got)
		}
	})
}

// The acks repeat an order until this process of the executor has confirmed it. They repeat a drain
// order for each later process.
func TestDrainOrderIsRepeatedUntilConfirmed(t *testing.T) {
	inHouse(t, func(h *house) {
		h.heard(kitchen, looks)
		hold, err := h.x.Drain(t.Context(), person, mess.DrainOrder{Reason: "wet"})
		if err != nil {
			t.Fatal(err)
		}
		if ack := h.heard(kitchen, mess.Executor{}); ack.Drain == nil || ack.Drain.ID != hold.ID || ack.Drain.Executors != nil || ack.Resume != nil {
			t.Errorf("not confirmed: %+v", ack)
		}
		taken := mess.Executor{Held: &mess.DrainState{Orders: mess.Refs{hold.ID}, Reason: "wet"}}
		if ack := h.heard(kitchen, taken); ack.Drain != nil {
			t.Errorf("confirmed: %+v", ack)
		}
		if e := h.x.Executors()[0]; e.Drain == nil || e.Held == nil || e.Held.Reason != "wet" || e.DrainReason != "on hold by teague: wet" {
			t.Errorf("%+v", e)
		}
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heard(kitchen, mess.Executor{Capabilities: looks.Capabilities, Instance: "next", Held: &mess.DrainState{}}); ack.Drain == nil {
			t.Errorf("the next process is not told: %+v", ack)
		}
		h.heard(kitchen, taken)
		end, err := h.x.Resume(t.Context(), person, mess.DrainOrder{})
		if err != nil || len(end.Executors) != 1 {
			t.Fatalf("%+v, %v", end, err)
		}
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heard(kitchen, taken); ack.Resume == nil || ack.Resume.ID != end.ID || ack.Drain != nil {
			t.Errorf("the end, not confirmed: %+v", ack)
		}
		if ack := h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Orders: mess.Refs{hold.ID, end.ID}}}); ack.Resume != nil {
			t.Errorf("the end, confirmed: %+v", ack)
		}
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heard(kitchen, mess.Executor{Held: &mess.DrainState{}}); ack.Drain != nil || ack.Resume != nil {
			t.Errorf("nothing is left: %+v", ack)
		}
	})
}

// An executor reports a drain order that it got from its broker: it gets no offers. If the executor
// reports the end of an order of the exchange, the order ends here too.
func TestDrainOrderFromBrokerApplies(t *testing.T) {
	inHouse(t, func(h *house) {
		h.heard(kitchen, looks)
		h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Reason: "at its broker"}})
		ear := h.listens(kitchen, "")
		ref := h.says(agent, "request: {intent: look, requires: [look]}").Ref
		if got := strings.Join(ear.heard(), ","); got != "hold  config" {
			t.Errorf("it hears %q", got)
		}
		h.heard(kitchen, mess.Executor{Held: &mess.DrainState{}})
		h.after(time.Millisecond)
		if got := strings.Join(ear.heard(), ","); got != "offer "+ref+" request" {
			t.Errorf("then it hears %q", got)
		}
		hold, err := h.x.Drain(t.Context(), agent, mess.DrainOrder{})
		if err != nil {
			t.Fatal(err)
		}
		h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Orders: mess.Refs{hold.ID}, Reason: "x"}})
		h.after(time.Millisecond)
		ear.heard()
		h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Orders: mess.Refs{hold.ID}}})
		h.after(time.Millisecond)
		if got := strings.Join(ear.heard(), ","); got != "offer "+ref+" request" || h.x.Executors()[0].Drain != nil {
			t.Errorf("a hold that ended there: %q, %+v", got, h.x.Executors()[0].Drain)
		}
	})
}

// An executor reports a drain order from its broker. The exchange sends the order to the next
// process of the executor, also after a restart of the exchange, until the order ends, here or
// there.
func TestDrainOrderFromBrokerSurvivesRestart(t *testing.T) {
	inHouse(t, func(h *house) {
		next := mess.Executor{Capabilities: looks.Capabilities, Instance: "next", Held: &mess.DrainState{}}
		told := func() *mess.DrainOrder {
			t.Helper()
			h.heard(kitchen, looks)
			ack := h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Reason: "wet, by the door, by anna"}})
			if ack.Drain == nil || ack.Drain.Reason != "wet, by the door" || ack.Drain.By != "anna" {
				t.Fatalf("%+v", ack)
			}
			return ack.Drain
		}
		hold := told()
		h.refuses(kitchen, "status: {re: "+h.says(agent, "request: {intent: look}").Ref+", code: claimed}", mess.NotYet, "on hold by anna: wet, by the door")
		h.stop()
		h.open(exchange.DefaultConfig())
		if ack := h.heard(kitchen, next); ack.Drain == nil || ack.Drain.ID != hold.ID {
			t.Errorf("the next process: %+v", ack)
		}
		h.refuses(agent, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden, "anna")
		// The order ends there, by a process that knows it as an order of the exchange.
		if ack := h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Orders: mess.Refs{hold.ID}}}); ack.Drain != nil || ack.Resume != nil {
			t.Errorf("ended there: %+v", ack)
		}
		if ack := h.heard(kitchen, next); ack.Drain != nil || ack.Resume != nil {
			t.Errorf("the next process after the end: %+v", ack)
		}
		// The order ends there while the exchange's order was on its way: its end follows it.
		hold = told()
		end := h.heard(kitchen, mess.Executor{Held: &mess.DrainState{}}).Resume
		if end == nil {
			t.Fatal("the end does not follow the order")
		}
		if ack := h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Orders: mess.Refs{hold.ID}, Reason: "wet, by anna"}}); ack.Drain != nil || ack.Resume == nil || ack.Resume.ID != end.ID {
			t.Errorf("the late order: %+v", ack)
		}
		h.heard(kitchen, mess.Executor{Held: &mess.DrainState{Orders: mess.Refs{hold.ID, end.ID}}})
		if e := h.x.Executors()[0]; e.DrainReason != "" || e.Drain != nil {
			t.Errorf("%+v", e)
		}
		// The operator ends the order here.
		told()
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
	inHouse(t, func(h *house) {
		h.registers(kitchen, "look")
		h.registers(garage, "look")
		for _, who := range []exchange.Actor{watcher, garage} {
			h.refuses(who, "config: {hold: true}", mess.Forbidden, who.ID)
			h.refuses(who, "config: {resume: true}", mess.Forbidden, who.ID)
		}
		h.refuses(agent, "config: {hold: {executors: [nobody]}}", mess.MissingReference, "nobody")
		h.refuses(agent, "config: {resume: {executors: [nobody]}}", mess.MissingReference, "nobody")
		by := func() string {
			list := ""
			for _, e := range h.x.Executors() {
				if e.Drain != nil {
					list += e.ID + ":" + e.Drain.By + " "
				}
			}
			return list
		}
		ack := h.says(agent, "config: {hold: {executors: [kitchen-pi]}}")
		h.refuses(other, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden, "on hold by claude-agent", "operator")
		if got := h.says(other, "config: {hold: true}").Drain; len(got.Executors) != 2 || by() != "garage-pi:other-agent kitchen-pi:claude-agent " {
			t.Errorf("%+v, %s", got, by())
		}
		if got := h.says(other, "config: {resume: true}").Resume; len(got.Executors) != 1 || by() != "kitchen-pi:claude-agent " {
			t.Errorf("one's own alone: %+v, %s", got, by())
		}
		h.says(person, "config: {hold: {executors: [kitchen-pi]}}")
		if by() != "kitchen-pi:teague " {
			t.Errorf("an operator's hold stands: %s", by())
		}
		h.says(agent, "config: {hold: {executors: [kitchen-pi]}}")
		h.refuses(agent, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden, "on hold by teague")
		if got := h.says(agent, "config: {resume: true}").Resume; len(got.Executors) != 0 || by() != "kitchen-pi:teague " {
			t.Errorf("%+v, %s", got, by())
		}
		if got := h.says(person, "config: {resume: true}").Resume; len(got.Executors) != 1 || by() != "" || got.ID == ack.Drain.ID {
			t.Errorf("%+v, %s", got, by())
		}
	})
}

// noHolds is a store that fails to store drain orders.
type noHolds struct{ exchange.Store }

func (s noHolds) Put(_ context.Context, kind, _ string, _ []byte, _ thread.Rev) (thread.Rev, error) {
	if kind == "hold" {
		return "", errors.New("no space")
	}
	return "", nil
}

// The disk is full: the drain order applies for now, and the sender gets an error.
func TestDrainOnFullDiskApplies(t *testing.T) {
	inHouseOver(t, noHolds{memory.New()}, exchange.DefaultConfig(), func(h *house) {
		h.heard(kitchen, looks)
		h.refuses(agent, "config: {hold: {why: wet}}", mess.Unavailable)
		if ack := h.heard(kitchen, mess.Executor{}); ack.Drain == nil || ack.Drain.Reason != "wet" {
			t.Errorf("%+v", ack)
		}
	})
}

// An unreadable record counts as a drain order, and an operator can end it.
func TestUnreadableDrainRecordDrains(t *testing.T) {
	store := memory.New()
	overwrite(t, store, "hold", kitchen.ID, "{")
	inHouseOver(t, store, exchange.DefaultConfig(), func(h *house) {
		if ack := h.heard(kitchen, looks); ack.Drain == nil || !strings.Contains(ack.Drain.Reason, "unreadable reason") {
			t.Errorf("%+v", ack)
		}
		h.refuses(agent, "config: {resume: {executors: [kitchen-pi]}}", mess.Forbidden)
		if got := h.says(person, "config: {resume: true}").Resume; len(got.Executors) != 1 {
			t.Errorf("%+v", got)
		}
	})
}
