package homeassistant

import (
	"fmt"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Whoever writes the name of an executor that there is not is not remembered when
// his request has ended; one that there is keeps how its last task has ended.
func TestNamesThatNobodyBears(t *testing.T) {
	h := &Publisher{exhibits: &exhibits{of: map[string]exhibit{"pi": {}}}, news: make(chan struct{}, 1), doings: map[string]*doing{}}
	heard := func(i int, to string, status mess.Code) {
		h.Message(exchange.Envelope{
			Ref: fmt.Sprintf("2026-01-01-%d", i), Requestor: "me", Status: status,
			Needs: exchange.Needs{Requires: []mess.Capability{{ID: "look", Meta: mess.Object{{Key: "executor", Value: to}}}}},
		}, mess.Message{}, false)
	}
	const many = 2 * maxNames
	for i := range many {
		heard(i, fmt.Sprintf("nobody-%d", i), mess.Pending)
	}
	heard(many, "pi", mess.Pending)
	if len(h.doings) != maxNames+1 || h.doings["pi"] == nil {
		t.Errorf("%d names are kept, of %d", len(h.doings), many)
	}
	for i := range many {
		heard(i, fmt.Sprintf("nobody-%d", i), mess.Expired)
	}
	heard(many, "pi", mess.Completed)
	if pi := h.doings["pi"]; len(h.doings) != 1 || pi == nil || pi.last == nil {
		t.Errorf("%d names are kept, pi's last is %v", len(h.doings), pi)
	}
}
