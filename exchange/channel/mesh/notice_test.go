package mesh_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// The agent notifies people of a notification, an incident and a message that it gives up, but
// not of a further alert of an incident.
func TestPeopleAreNotified(t *testing.T) {
	h := newFixture(t, nil)
	h.takes(envelope(wire.Notification, "msg_n", "the schema has changed"))
	for _, id := range []string{"msg_a", "msg_b"} {
		e := envelope(wire.Alert, id, "disk is full")
		e.IdempotencyKey = "disk"
		h.takes(e)
	}
	h.hub.mu.Lock()
	h.hub.code = http.StatusForbidden
	h.hub.mu.Unlock()
	id := h.send(mesh.Sending{To: "hub", Type: wire.Notification, Body: "hello"})
	h.delivery(id, "hub")
	var notices []string
	h.until("all notices", func() bool {
		notices = h.noticed()
		return len(notices) >= 3
	})
	for i, want := range []string{"normal hub: the schema has changed", "elevated [new] ", "elevated A message to hub was not delivered"} {
		if !strings.HasPrefix(notices[i], want) {
			t.Errorf("%q, want %s", notices[i], want)
		}
	}
	if len(notices) != 3 || !strings.Contains(notices[2], id) || !strings.Contains(notices[1], "disk is full") {
		t.Errorf("%q", notices)
	}
}

// The agent notifies people of a message that expires before delivery, even before the last
// attempt.
func TestPeopleAreNotifiedOfExpiredMessage(t *testing.T) {
	t.Parallel() // it waits
	h := newFixture(t, nil)
	h.hub.code = http.StatusInternalServerError
	id := h.send(mesh.Sending{To: "hub", Type: wire.Notification, Body: "hello", TTL: 1})
	if a := h.delivery(id, "hub"); a.Delivery != "expired" {
		t.Errorf("%+v", a)
	}
	if notices := h.noticed(); len(notices) != 1 || !strings.Contains(notices[0], "A message to hub was not delivered: its time was over") || !strings.Contains(notices[0], "messkit mesh audit --id "+id) {
		t.Errorf("%q", notices)
	}
}
