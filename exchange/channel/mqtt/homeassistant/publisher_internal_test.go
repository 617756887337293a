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
	h := &Publisher{publications: &publications{bySlug: map[string]publication{"pi": {}}}, changed: make(chan struct{}, 1), activities: map[string]*activity{}}
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
	if len(h.activities) != maxNames+1 || h.activities["pi"] == nil {
		t.Errorf("%d names are kept, of %d", len(h.activities), many)
	}
	for i := range many {
		heard(i, fmt.Sprintf("nobody-%d", i), mess.Expired)
	}
	heard(many, "pi", mess.Completed)
	if pi := h.activities["pi"]; len(h.activities) != 1 || pi == nil || pi.last == nil {
		t.Errorf("%d names are kept, pi's last is %v", len(h.activities), pi)
	}
}
