package exchange_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// queuedRequests are requests in the order of their age, with the place in which each comes to
// an executor.
var queuedRequests = []struct {
	priority, urgency string
	place             int
}{
	{"background", "now", 7}, {"", "", 6}, {"urgent", "", 1}, {"normal", "soon", 4}, {"urgent", "now", 0}, {"elevated", "whenever", 3}, {"normal", "soon", 5}, {"elevated", "now", 2},
}

// queueRequests makes the requests, and returns their refs by place, and the places in the queue
// from the acks.
func (h *harness) queueRequests() (refs []string, positions []int64) {
	h.t.Helper()
	refs = make([]string, len(queuedRequests))
	for i, q := range queuedRequests {
		text := fmt.Sprintf("request: {id: r%d, intent: look, requires: [x]", i)
		if q.priority != "" {
			text += ", priority: " + q.priority
		}
		if q.urgency != "" {
			text += ", constraints: {timing: {urgency: " + q.urgency + "}}"
		}
		ack := h.send(agent, text+"}")
		if ack.QueuePosition == nil {
			h.t.Fatalf("r%d waits, and its ack has no queue_position", i)
		}
		refs[q.place] = ack.Ref
		positions = append(positions, *ack.QueuePosition)
		h.advance(time.Second)
	}
	return refs, positions
}

// offeredRefs returns the refs of the offers among lines.
func offeredRefs(lines []string) (refs []string) {
	for _, l := range lines {
		if ref, ok := strings.CutPrefix(l, "offer "); ok {
			refs = append(refs, strings.TrimSuffix(ref, " request"))
		}
	}
	return refs
}

// Offers come by priority, then by urgency, then by age: when an executor appears, when
// it comes back, and when a drain order ends.
func TestOffersAreOrdered(t *testing.T) {
	withHarness(t, func(h *harness) {
		want, positions := h.queueRequests()
		if !slices.Equal(positions, []int64{1, 1, 1, 2, 1, 3, 5, 3}) {
			t.Errorf("places in the queue: %v", positions)
		}
		watching := h.subscribe(kitchen, "")
		h.register(kitchen, "x")
		if got := offeredRefs(watching.events()); !slices.Equal(got, want) {
			t.Errorf("registered: %v\nwant %v", got, want)
		}
		if got := offeredRefs(h.subscribe(kitchen, "").events()); !slices.Equal(got, want) {
			t.Errorf("come anew: %v\nwant %v", got, want)
		}
		h.send(person, "config: {hold: {why: the floor is wet}}")
		watching.events()
		h.send(person, "config: {resume: {}}")
		if got := offeredRefs(watching.events()); !slices.Equal(got, want) {
			t.Errorf("after a hold: %v\nwant %v", got, want)
		}
	})
}

// A request has no place in the queue if no other request is before it and a live executor has its
// offer.
func TestQueuePositionOfRequest(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		h.register(garage, "y")
		h.subscribe(kitchen, "")
		place := func(ack mess.Ack) int64 {
			if ack.QueuePosition == nil {
				return 0
			}
			return *ack.QueuePosition
		}
		first := h.send(agent, "request: {intent: look, requires: [x]}")
		second := h.send(agent, "request: {intent: look, requires: [x]}")
		elsewhere := h.send(agent, "request: {intent: look, requires: [y]}")
		if place(first) != 0 || place(second) != 2 || place(elsewhere) != 0 {
			t.Errorf("places: %d, %d, %d", place(first), place(second), place(elsewhere))
		}
		h.send(kitchen, replaceRef("status: {re: {ref}, code: claimed}", first.Ref))
		h.send(kitchen, replaceRef("status: {re: {ref}, code: claimed}", second.Ref))
		if third := h.send(agent, "request: {intent: look, requires: [x]}"); place(third) != 0 {
			t.Errorf("place in the queue is %d, want 0", place(third))
		}
		two := h.send(agent, "[{request: {id: a, intent: look, requires: [z]}}, {request: {id: b, intent: look, requires: [z]}}]")
		for i, e := range two.Requests {
			if e.QueuePosition == nil || *e.QueuePosition != int64(i+1) {
				t.Errorf("%s: %v", e.ID, e.QueuePosition)
			}
		}
	})
}

// Of several executors the one counts at which a request comes soonest.
func TestQueuePositionIsBestOfExecutors(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x, y")
		h.register(garage, "x")
		for range 300 {
			h.send(agent, "request: {intent: look, requires: [y]}")
		}
		want := func(requires string, place int64) {
			t.Helper()
			ack := h.send(agent, "request: {intent: look, requires: ["+requires+"]}")
			if ack.QueuePosition == nil || *ack.QueuePosition != place {
				t.Errorf("a request for %s: place %v, want %d", requires, ack.QueuePosition, place)
			}
		}
		want("y", 301)
		if ack := h.send(agent, "request: {intent: look, requires: [x]}"); ack.QueuePosition != nil {
			t.Errorf("the garage waits for it alone, and its place is %d", *ack.QueuePosition)
		}
		want("x", 2)
		want("nothing", 1)
		want("nothing", 2)
	})
}

// A filter accepts the status of MESS (received) and of MESSE-AF (pending) for a thread without a
// claim.
func TestFilterAcceptsReceivedAndPending(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
		for _, code := range []mess.Code{mess.Received, mess.Pending} {
			page, err := h.x.List(t.Context(), agent, exchange.Filter{Status: []mess.Code{code}})
			if err != nil || len(page.Threads) != 1 || page.Threads[0].Ref != ref {
				t.Errorf("%s: %v, %v", code, page.Threads, err)
			}
			m, err := h.post(agent, "query: {type: status, filter: {status: ["+string(code)+"]}}")
			if err != nil || !strings.Contains(fmt.Sprint(m.Items[0].(*mess.Response).Content), ref) {
				t.Errorf("query %s: %v, %v", code, m.Items, err)
			}
		}
	})
}
