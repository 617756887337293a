package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
)

// disk has the files that a crash leaves of the dispatcher.
type disk struct{ file, position []byte }

func (h *fixture) disk() (d disk) {
	h.Helper()
	d.position = h.x.ChannelState("webhook")["position"]
	d.file, _ = os.ReadFile(filepath.Join(h.dir, "webhooks.json")) // there may be none
	return d
}

// restore puts back an earlier state of the disk, as after a power cut.
func (h *fixture) restore(d disk) {
	h.Helper()
	if err := h.x.SaveChannelState(h.Context(), "webhook", "position", d.position); err != nil {
		h.Fatal(err)
	}
	file := filepath.Join(h.dir, "webhooks.json")
	if d.file == nil {
		_ = os.Remove(file) // there may be none
	} else if err := os.WriteFile(file, d.file, 0o600); err != nil {
		h.Fatal(err)
	}
}

// statusIn returns the status in a notification; "" for plain text.
func statusIn(body []byte) string {
	var v struct{ Thread struct{ Status string } }
	_ = json.Unmarshal(body, &v) // plain text has none
	return v.Thread.Status
}

// events returns the events that a host has got: event type and status, and how often each
// delivery id has come.
func (h *fixture) events(host string) (list []string, ids map[string]int) {
	ids = map[string]int{}
	for _, r := range h.all(host) {
		list = append(list, r.head.Get("X-Mess-Event")+" "+statusIn(r.body))
		ids[r.head.Get("X-Mess-Delivery")]++
	}
	return list, ids
}

func (h *fixture) noLoss() {
	h.Helper()
	for _, e := range h.hooks.Deliveries(exchange.Actor{ID: "operator", Roles: exchange.Operator}) {
		if e.State == webhook.Lost {
			h.Errorf("the log reports a loss: %+v", e)
		}
	}
}

// Events that were stored while the dispatcher was dead arrive after the start: new requests, every
// status, and offers to people.
func TestEventsOfCrashArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.join("pi", "look", "pi.example", "")
		h.join("agent", "swim", "agent.example", "")
		h.post("own", `{"config":{"executor":{"id":"own","kind":"person","capabilities":["walk"],"notifications":[{"type":"ntfy","url":"https://own.example/topic"}]}}}`)
		was := h.post("agent", `{"request":{"intent":"look once","requires":["look"]}}`)
		h.settle(time.Minute)
		before := h.disk()
		h.stop()
		h.post("pi", `{"re":"`+was+`","MESS":[{"status":{"code":"claimed"}}]}`)
		h.settle(time.Minute)
		h.post("pi", `{"re":"`+was+`","epoch":1,"MESS":[{"status":{"code":"needs_input","questions":[{"id":"way","question":"which way?"}]}}]}`)
		h.post("agent", `{"request":{"intent":"look twice","requires":["look"]}}`)
		h.post("agent", `{"request":{"intent":"walk","requires":["walk"]}}`)
		h.settle(time.Hour)
		h.restore(before)
		h.start(webhook.Config{})
		h.settle(time.Minute)
		for host, want := range map[string][]string{
			"pi.example":    {"thread_created pending", "status_changed claimed", "status_changed needs_input", "thread_created pending"},
			"agent.example": {"status_changed claimed", "status_changed needs_input"},
			"own.example":   {"thread_created "}, // ntfy gets plain text
		} {
			got, ids := h.events(host)
			if !slices.Equal(got, want) || len(ids) != len(want) {
				t.Errorf("%s got %q with %d ids, want %q", host, got, len(ids), want)
			}
		}
		h.noLoss()
		h.stop()
		h.start(webhook.Config{})
		h.settle(time.Minute)
		if got, _ := h.events("pi.example"); len(got) != 4 {
			t.Errorf("a graceful restart repeats events: %q", got)
		}
		h.stop()
	})
}

// A crash after the delivery and before the exchange has stored it repeats notifications with the
// same delivery ids, and no others.
func TestRepeatHasSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.join("pi", "look", "pi.example", "")
		h.settle(time.Second)
		before := h.disk()
		if before.file != nil || before.position == nil {
			t.Fatalf("before the first event there are %s and %s", before.file, before.position)
		}
		for n := range 3 {
			ref := h.post("agent", fmt.Sprintf(`{"request":{"intent":"look %d","requires":["look"]}}`, n))
			h.post("pi", `{"re":"`+ref+`","MESS":[{"status":{"code":"claimed"}}]}`)
			h.post("pi", `{"re":"`+ref+`","epoch":1,"MESS":[{"status":{"code":"claimed","message":"soon"}}]}`)
			h.settle(time.Second)
		}
		first, _ := h.events("pi.example")
		h.stop()
		h.restore(before)
		h.start(webhook.Config{})
		h.settle(time.Minute)
		all, ids := h.events("pi.example")
		slices.Sort(first)
		again := slices.Sorted(slices.Values(all[len(first):]))
		if len(first) != 6 || !slices.Equal(again, first) || len(ids) != 6 {
			t.Errorf("got %q, then %q, with %d ids", first, again, len(ids))
		}
		h.noLoss()
		h.stop()
	})
}

// A crash between the file and the position repeats nothing that the file has.
func TestOldPositionRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.receiver["pi.example"] = func(_ context.Context, n int) (*http.Response, error) {
			return code(map[bool]int{true: 503, false: 200}[n < 3])
		}
		h.join("pi", "look", "pi.example", "")
		h.settle(time.Second)
		before := h.disk()
		ref := h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
		h.post("pi", `{"re":"`+ref+`","MESS":[{"status":{"code":"claimed"}}]}`)
		h.settle(100 * time.Millisecond) // the first attempt has failed, the queue has both
		h.stop()
		h.restore(disk{file: h.disk().file, position: before.position})
		h.start(webhook.Config{})
		h.settle(time.Hour)
		if got, ids := h.events("pi.example"); len(ids) != 2 || len(got) != 4 {
			t.Errorf("got %q with %d ids, want two notifications after two failures", got, len(ids))
		}
		h.stop()
	})
}

// The first executor with an address gets the changes of an older thread, and nothing about a
// message that does not change its status.
func TestFirstAddressGetsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		defer h.stop()
		h.post("pi", `{"config":{"executor":{"id":"pi","capabilities":["look"]}}}`)
		ref := h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
		h.post("pi", `{"re":"`+ref+`","MESS":[{"status":{"code":"claimed"}}]}`)
		h.post("pi", `{"re":"`+ref+`","epoch":1,"MESS":[{"status":{"code":"in_progress"}}]}`)
		h.settle(time.Second)
		h.join("agent", "swim", "agent.example", "")
		h.settle(time.Second)
		h.post("pi", `{"re":"`+ref+`","epoch":1,"MESS":[{"status":{"code":"in_progress","message":"soon"}}]}`)
		h.settle(time.Second)
		h.post("pi", `{"re":"`+ref+`","epoch":1,"MESS":[{"status":{"code":"failed","reason":{"type":"other","detail":"no light","effect":"none"}}}]}`)
		h.settle(time.Second)
		if got, _ := h.events("agent.example"); !slices.Equal(got, []string{"status_changed failed"}) {
			t.Errorf("got %q", got)
		}
	})
}
