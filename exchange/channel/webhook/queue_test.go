package webhook_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
)

// The next run sends pending notifications. After a crash of an earlier version, which stores no
// position, the log reports possible losses.
func TestRestartSendsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.receiver["pi.example"] = func(context.Context, int) (*http.Response, error) { return code(503) }
		h.join("pi", "look", "pi.example", "")
		h.join("gone", "look", "gone.example", "")
		h.receiver["gone.example"] = h.receiver["pi.example"]
		for range 3 {
			h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
		}
		h.settle(5 * time.Second)
		h.stop()
		file := filepath.Join(h.dir, "webhooks.json")
		ended, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(ended), `"ended":true`) {
			t.Fatalf("%s, %v", ended, err)
		}
		h.receiver["pi.example"], h.receiver["gone.example"] = nil, nil
		before := len(h.all("pi.example"))
		h.keys["gone"] = true // an operator has revoked its key
		h.start(webhook.Config{})
		h.settle(10 * time.Minute)
		all := h.hooks.Deliveries(exchange.Actor{ID: "operator", Roles: exchange.Operator})
		for _, e := range all {
			if e.Executor == "pi" && e.State != webhook.Delivered || e.Executor == "gone" && e.State != webhook.Rejected || e.State == webhook.Lost {
				t.Errorf("%+v", e)
			}
		}
		if n := len(h.all("pi.example")) - before; n != 3 || len(all) != 6 {
			t.Errorf("%d sent, %d lines", n, len(all))
		}
		h.stop()
		killed := strings.Replace(string(ended), `"ended":true`, `"ended":false`, 1)
		for what, text := range map[string]string{"a kill": killed, "half a file": killed[:len(killed)/2], "another file": "[]"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := h.x.SaveChannelState(t.Context(), "webhook", "position", nil); err != nil { // an earlier version stores none
				t.Fatal(err)
			}
			h.start(webhook.Config{})
			h.settle(time.Minute)
			h.stop()
			lost := h.hooks.Deliveries(exchange.Actor{ID: "operator", Roles: exchange.Operator})
			if !slices.ContainsFunc(lost, func(e webhook.Entry) bool { return e.State == webhook.Lost && e.Err != "" }) {
				t.Errorf("%s: deliveries are %+v, want one that is lost", what, lost)
			}
		}
	})
}

// A full queue drops its oldest notification, and logs it.
func TestFullQueueDropsOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		defer h.stop()
		h.receiver["pi.example"] = after(9 * time.Second)
		h.join("pi", "look", "pi.example", "")
		for range 300 {
			h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
			synctest.Wait()
		}
		count := map[webhook.State]int{}
		for _, e := range h.hooks.Deliveries(exchange.Actor{ID: "pi"}) {
			count[e.State]++
		}
		if count[webhook.Waiting] != 256 || count[webhook.Lost] != 44 {
			t.Errorf("%v", count)
		}
	})
}

// Without webhooks the dispatcher writes no files.
func TestNoWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.post("pi", `{"config":{"executor":{"id":"pi","capabilities":["look"]}}}`)
		h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
		h.settle(time.Minute)
		h.stop()
		if list, err := os.ReadDir(h.dir); err != nil || len(list) > 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}
