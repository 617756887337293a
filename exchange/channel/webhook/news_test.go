package webhook_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/mess"
)

// News without a thread reaches people at their addresses, by their minimum priority, but no
// robots.
func TestBroadcast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		defer h.stop()
		h.post("pi", `{"config":{"executor":{"id":"pi","capabilities":["look"],"notifications":[{"type":"webhook","url":"https://pi.example/hook"}]}}}`)
		h.post("own", `{"config":{"executor":{"id":"own","kind":"person","capabilities":["look"],"notifications":[{"type":"ntfy","url":"https://ntfy.example/topic"},{"type":"webhook","url":"https://own.example/hook"}]}}}`)
		h.hooks.Broadcast(mess.Elevated, "[new] lan\nhub-3 is down")
		h.hooks.Broadcast(mess.Background, "nothing that matters")
		h.settle(time.Second)
		notifications := h.all("ntfy.example")
		if len(notifications) != 1 || string(notifications[0].body) != "[new] lan\nhub-3 is down" || notifications[0].head.Get("Title") != "messkit: news from the exchange" {
			t.Errorf("ntfy: %+v", notifications)
		}
		hook := h.all("own.example")
		if len(hook) != 1 || !strings.Contains(string(hook[0].body), `"event_type":"news"`) || !strings.Contains(string(hook[0].body), "hub-3 is down") {
			t.Errorf("webhook: %+v", hook)
		}
		if n := len(h.all("pi.example")); n != 0 {
			t.Errorf("an executor got %d notifications, want 0", n)
		}
	})
}
