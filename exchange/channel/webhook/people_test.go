package webhook_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/webhook"
)

// A person gets the notification of an offer that no message brings: the time of a silent robot is
// over, or the person has registered after the request. A restart repeats none of them, even without
// the log.
func TestOffersWithoutMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := h.x.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer wg.Wait()
		defer cancel()
		person := func(id string) {
			h.post(id, fmt.Sprintf(`{"config":{"executor":{"id":%q,"kind":"person","capabilities":["look"],"notifications":[{"type":"ntfy","url":"https://%s.example/topic"}]}}}`, id, id))
		}
		wantCounts := func(when string, want map[string]int) {
			t.Helper()
			h.settle(10 * time.Minute)
			for id, n := range want {
				if got := len(h.all(id + ".example")); got != n {
					t.Errorf("%s: %s got %d notifications, want %d", when, id, got, n)
				}
			}
		}
		h.post("pi", `{"config":{"executor":{"id":"pi","capabilities":["look"]}}}`)
		person("ana")
		h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
		h.settle(time.Second)
		if n := len(h.all("ana.example")); n != 0 {
			t.Errorf("ana got %d notifications while the robot has the offer, want 0", n)
		}
		wantCounts("after the time of the robot", map[string]int{"ana": 1})
		person("ben")
		wantCounts("after ben has registered", map[string]int{"ana": 1, "ben": 1})
		h.post("ana", `{"config":{"executor":{"id":"ana","notifications":[]}}}`)
		h.post("agent", `{"request":{"intent":"look again","requires":["look"]}}`)
		wantCounts("after ana has removed her address", map[string]int{"ana": 1, "ben": 2})
		person("ana")
		wantCounts("after ana has added it again", map[string]int{"ana": 2, "ben": 2})
		h.stop()
		if err := os.Remove(filepath.Join(h.dir, "webhooks.json")); err != nil {
			t.Fatal(err)
		}
		h.start(webhook.Config{})
		wantCounts("after a restart without the log", map[string]int{"ana": 2, "ben": 2})
		h.stop()
	})
}
