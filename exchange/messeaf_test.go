package exchange_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// The history has the text of each question as a note, in the form of MESSE-AF.
func TestHistoryHasQuestions(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
		for _, text := range []string{
			"status: {re: {ref}, code: claimed}",
			"status: {re: {ref}, code: needs_input, message: multiple spills detected, questions: [{field: a, question: 'Which area?'}]}",
			"status: {re: {ref}, code: needs_confirmation, action: vacuum both}",
		} {
			h.send(kitchen, replaceRef(text, ref))
		}
		notes := map[string]string{}
		for _, e := range h.thread(ref).History {
			notes[e.Action] = e.Note
		}
		if notes["needs_input"] != "multiple spills detected" || notes["needs_confirmation"] != "vacuum both" || notes["claimed"] != "" {
			t.Errorf("%v", notes)
		}
	})
}

// A query for executors returns their availability and schedule.
func TestExecutorQueryReturnsAvailability(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], availability: schedule, schedule: 0 8-22 * * *}}")
		h.register(garage, "x")
		m, err := h.post(agent, "query: {type: executors}")
		if err != nil {
			t.Fatal(err)
		}
		text := string(m.ListJSON())
		for _, want := range []string{`"availability":"schedule","schedule":"0 8-22 * * *"`, `"availability":"always"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s", text, want)
			}
		}
		if m.Version != "" || strings.Contains(text, `{"v":`) {
			t.Errorf("the answer bears a version, which MESS 1.0 section 10 leaves out: %s", text)
		}
	})
}

// A default rule applies if no other rule matches, at any position in the list. The access of an
// executor limits the locations that it can reach.
func TestMESSEAFRouting(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x, y], access: [home/kitchen]}}")
		h.send(garage, "config: {executor: {id: garage-pi, capabilities: [x, y], access: [garage]}}")
		h.send(person, "config: {routing: {rules: [{default: {prefer: [garage-pi]}}, {match: {capability: x}, prefer: [kitchen-pi]}]}}")
		kitchens, garages := h.subscribe(kitchen, ""), h.subscribe(garage, "")
		asked := func(request string) string {
			kitchens.events()
			garages.events()
			ref := h.send(agent, "request: {intent: look, "+request+"}").Ref
			actor := ""
			if slices.Contains(kitchens.events(), "offer "+ref+" request") {
				actor += "kitchen"
			}
			if slices.Contains(garages.events(), "offer "+ref+" request") {
				actor += "garage"
			}
			h.send(agent, "cancel: {re: "+ref+"}")
			return actor
		}
		for request, want := range map[string]string{
			"requires: [x]": "kitchen", "requires: [y]": "garage",
			"requires: [y], constraints: {location: kitchen}": "kitchen", "requires: [y], constraints: {location: home/kitchen}": "kitchen",
			"requires: [y], constraints: {location: home/kitchen/sink}": "kitchen", "requires: [x], constraints: {location: Garage}": "garage",
			"requires: [x], constraints: {location: attic}": "kitchen",
		} {
			if got := asked(request); got != want {
				t.Errorf("%s: %q was asked first, want %q", request, got, want)
			}
		}
		h.wantError(person, "config: {routing: {rules: [{default: {}}]}}", mess.Invalid, "default")
		h.wantError(person, "config: {routing: {rules: [{match: {capability: x}, default: {prefer: [a]}}]}}", mess.Invalid, "default")
		h.advance(time.Second)
	})
}

// Offers and the exchange's own messages in a thread have the version of MESS.
func TestOwnMessagesHaveVersion(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		sub := h.subscribe(kitchen, "")
		ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
		h.send(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref))
		h.advance(exchange.DefaultConfig().Lease + time.Second) // the lease ends, and the exchange offers the thread again
		h.wantStatus(ref, mess.Pending)
		sub.mu.Lock()
		defer sub.mu.Unlock()
		for _, e := range sub.list {
			m, ok := e.Delivery(kitchen.ID)
			if ok && m.Version != mess.Current {
				t.Errorf("%s: %s", e.Kind, m.ListJSON())
			}
		}
		for _, m := range h.thread(ref).Messages {
			own := m.From == exchange.Self && m.Ref != ""
			if own != (m.Version == mess.Current) {
				t.Errorf("%s: %s", m.From, m.ListJSON())
			}
		}
	})
}
