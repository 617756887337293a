package httpapi_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// Every authenticated call moves last_seen, not heartbeats alone.
func TestPollUpdatesLastSeen(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"take-photo"`)
	seen := func() string {
		for _, e := range h.x.Executors() {
			if e.ID == "phone" {
				return e.LastSeen.String()
			}
		}
		return "nobody"
	}
	for _, path := range []string{"/requests?status=pending", "/executors", "/requests/2000-01-01-001"} {
		before := seen()
		for end := time.Now().Add(5 * time.Second); seen() == before && time.Now().Before(end); {
			h.do("GET", root+path, phone, "")
		}
		if seen() == before {
			t.Errorf("GET %s leaves last_seen at %s", path, before)
		}
	}
	before := seen()
	h.do("GET", root+"/executors", "mess_home_00000000000000000000000000000000", "")
	if seen() != before {
		t.Error("a call with a wrong key counts")
	}
}
