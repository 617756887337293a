package homeassistant

import (
	"fmt"
	"slices"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// The publisher removes an unregistered executor after the end of its request. A registered
// executor keeps its last result.
func TestUnregisteredExecutorIsForgotten(t *testing.T) {
	h := unconnected()
	message := func(i int, to string, status mess.Code) {
		h.Message(exchange.Envelope{
			Ref: fmt.Sprintf("2026-01-01-%d", i), Requester: "me", Status: status,
			Needs: exchange.Needs{Requires: []mess.Capability{{ID: "look", Meta: mess.Object{{Key: "executor", Value: to}}}}},
		}, mess.Message{}, false)
	}
	const many = 2 * maxNames
	for i := range many {
		message(i, fmt.Sprintf("nobody-%d", i), mess.Pending)
	}
	message(many, "pi", mess.Pending)
	if len(h.activities) != maxNames+1 || h.activities["pi"] == nil {
		t.Errorf("%d names are kept, of %d", len(h.activities), many)
	}
	for i := range many {
		message(i, fmt.Sprintf("nobody-%d", i), mess.Expired)
	}
	message(many, "pi", mess.Completed)
	if pi := h.activities["pi"]; len(h.activities) != 1 || pi == nil || pi.last == nil {
		t.Errorf("%d names are kept, pi's last is %v", len(h.activities), pi)
	}
}

// unconnected is a publisher without a broker, which has published the executor pi.
func unconnected() *Publisher {
	return &Publisher{
		publications: &publications{bySlug: map[string]publication{"pi": {}}}, changed: make(chan struct{}, 1),
		activities: map[string]*activity{}, owners: map[string]string{}, stale: map[string]bool{},
	}
}

// A message makes only the executors stale that have its thread, or have had it.
func TestMessageMakesItsExecutorsStale(t *testing.T) {
	h := unconnected()
	message := func(ref, executor string, status mess.Code) {
		h.Message(exchange.Envelope{Ref: ref, Requester: "me", Executor: executor, Status: status}, mess.Message{}, false)
	}
	for i := range 100 {
		message(fmt.Sprintf("2026-01-02-%03d", i+1), fmt.Sprintf("pi-%d", i), mess.Claimed)
	}
	if got := len(h.takeStale()); got != 100 {
		t.Fatalf("%d executors are stale, want 100", got)
	}
	const ref = "2026-01-02-001"
	for _, c := range []struct {
		executor string
		status   mess.Code
		want     []string
	}{
		{"pi-0", mess.InProgress, []string{"pi-0"}},
		{"", mess.Pending, []string{"pi-0"}},
		{"pi-1", mess.Claimed, []string{"pi-1"}},
		{"pi-2", mess.Claimed, []string{"pi-1", "pi-2"}},
		{"pi-2", mess.Completed, []string{"pi-2"}},
	} {
		message(ref, c.executor, c.status)
		if got := h.takeStale(); !slices.Equal(got, c.want) {
			t.Errorf("%s by %q: %v are stale, want %v", c.status, c.executor, got, c.want)
		}
	}
	if len(h.owners) != 99 {
		t.Errorf("%d threads have an owner, want 99", len(h.owners))
	}
}
