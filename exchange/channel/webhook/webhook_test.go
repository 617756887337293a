package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/mess"
)

// An executor gets the signed notification of the MESS reference servers.
func TestSignedNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		defer h.stop()
		h.join("pi", "look", "pi.example", "")
		h.join("own", "look", "own.example", `,"secret":"of its own"`)
		h.join("agent", "look", "agent.example", "")
		h.join("stranger", "swim", "stranger.example", "")
		ref := h.post("agent", `{"request":{"intent":"Look <there> & tell","requires":["look"],"priority":"elevated"}}`)
		h.settle(time.Second)
		if n := [4]int{len(h.all("pi.example")), len(h.all("own.example")), len(h.all("agent.example")), len(h.all("stranger.example"))}; n != [4]int{1, 1, 0, 0} {
			t.Fatalf("notifications: %v, want 1 1 0 0", n)
		}
		want := `{"title":"🆕 New MESS Request","body":"Look <there> & tell\n\nRef: ` + ref + `\nPriority: elevated","thread":{"ref":"` + ref + `","intent":"Look <there> & tell","priority":"elevated","status":"pending","requestor_id":"agent","created_at":"2000-01-01T00:00:00.000Z","updated_at":"2000-01-01T00:00:00.000Z"},"event_type":"thread_created"}`
		if got := string(h.all("pi.example")[0].body); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for host, secret := range map[string]string{"pi.example": "shared by pi", "own.example": "of its own"} {
			r := h.all(host)[0]
			if r.head.Get("X-Mess-Signature") != webhook.Sign([]byte(secret), r.head.Get("X-Mess-Timestamp"), r.head.Get("X-Mess-Delivery"), r.body) || r.head.Get("X-Mess-Timestamp") != "946684800" {
				t.Errorf("%s: %v", host, r.head)
			}
		}
		h.post("pi", `{"re":"`+ref+`","MESS":[{"status":{"code":"claimed"}}]}`)
		h.settle(time.Second)
		if n := [3]int{len(h.all("pi.example")), len(h.all("own.example")), len(h.all("agent.example"))}; n != [3]int{2, 1, 1} {
			t.Errorf("notifications after the claim: %v, want 2 1 1", n)
		}
		var v struct {
			Title  string
			Event  string `json:"event_type"`
			Thread struct {
				Status   string
				Executor string `json:"executor_id"`
				Messages []struct {
					From string
					MESS []map[string]any
				}
			}
		}
		if err := json.Unmarshal(h.all("agent.example")[0].body, &v); err != nil || v.Title != "📬 MESS Update: claimed" || v.Event != "status_changed" || v.Thread.Executor != "pi" || v.Thread.Status != "claimed" ||
			len(v.Thread.Messages) < 2 || v.Thread.Messages[0].From != "agent" || v.Thread.Messages[0].MESS[0]["request"] == nil {
			t.Errorf("%+v, %v", v, err)
		}
		h.post("pi", `{"re":"`+ref+`","epoch":1,"MESS":[{"status":{"code":"claimed","message":"soon"}}]}`)
		h.settle(time.Second)
		if n := len(h.all("agent.example")); n != 1 {
			t.Errorf("notifications without a change: %d in total, want 1", n)
		}
		for _, e := range h.hooks.Deliveries(exchange.Actor{ID: "operator", Roles: exchange.Operator}) {
			if e.State != webhook.Delivered || e.Tries != 1 || e.Code != 200 || e.Ref != ref {
				t.Errorf("log: %+v", e)
			}
		}
		if n := len(h.hooks.Deliveries(exchange.Actor{ID: "pi"})); n != 2 {
			t.Errorf("pi sees %d lines", n)
		}
		all, _ := json.Marshal(h.hooks.Deliveries(exchange.Actor{ID: "operator", Roles: exchange.Operator}))
		if hay := string(all) + h.log.String(); strings.Contains(hay, "sesame") || strings.Contains(hay, "of its own") {
			t.Errorf("the log contains a secret: %s", hay)
		}
	})
}

// Each answer of a receiver leads to the right state.
func TestAnswerOfReceiverDecidesState(t *testing.T) {
	always := func(n int) func(context.Context, int) (*http.Response, error) {
		return func(context.Context, int) (*http.Response, error) { return code(n) }
	}
	for what, c := range map[string]struct {
		answer func(ctx context.Context, n int) (*http.Response, error)
		state  webhook.State
		tries  int
		within time.Duration
	}{
		"takes it": {always(204), webhook.Delivered, 1, time.Second},
		"is away for a while": {func(_ context.Context, n int) (*http.Response, error) {
			return code(map[bool]int{true: 503, false: 200}[n < 4])
		}, webhook.Delivered, 4, time.Minute},
		"cannot be reached":       {func(context.Context, int) (*http.Response, error) { return nil, errors.New("connection refused") }, webhook.GivenUp, 8, time.Hour},
		"is at its limit":         {always(429), webhook.GivenUp, 8, time.Hour},
		"does not want it":        {always(404), webhook.Rejected, 1, time.Second},
		"points elsewhere":        {always(302), webhook.Rejected, 1, time.Second},
		"never answers":           {after(time.Hour), webhook.GivenUp, 8, time.Hour},
		"is not there, at length": {func(context.Context, int) (*http.Response, error) { return nil, context.DeadlineExceeded }, webhook.GivenUp, 8, time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t)
				defer h.stop()
				h.receiver["pi.example"] = c.answer
				h.join("pi", "look", "pi.example", "")
				h.join("quick", "look", "quick.example", "")
				h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
				if took := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); took > 0 {
					t.Errorf("the requester waited %v", took)
				}
				h.settle(100 * time.Millisecond)
				if len(h.all("quick.example")) != 1 {
					t.Error("another receiver waits")
				}
				h.settle(c.within)
				e := h.hooks.Deliveries(exchange.Actor{ID: "pi"})[0]
				if e.State != c.state || e.Tries != c.tries || (e.Err == "") != (c.state == webhook.Delivered) || strings.Contains(e.Err, "sesame") {
					t.Errorf("%+v", e)
				}
				got := h.all("pi.example")
				if len(got) != c.tries || len(h.all("elsewhere.example")) != 0 {
					t.Fatalf("sent %d times", len(got))
				}
				for i, r := range got[1:] {
					wait := r.at.Sub(got[i].at)
					if r.head.Get("X-Mess-Delivery") != e.ID || wait < 500*time.Millisecond || wait > 10*time.Minute {
						t.Errorf("try %d after %v: %v", i+2, wait, r.head)
					}
				}
			})
		})
	}
}

// The preferences of a person filter notifications by priority and by the hour.
func TestPreferencesFilterNotifications(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 21, hour, 30, 0, 0, time.Local) }
	quiet := `"quiet_hours":{"enabled":true,"start":"22:00","end":"07:00"}`
	for _, c := range []struct {
		prefs    string
		priority mess.Priority
		hour     int
		want     bool
	}{
		{`{}`, mess.Normal, 3, true},
		{`{}`, mess.Background, 3, false},
		{`{"preferences":{"min_priority":"background"}}`, mess.Background, 3, true},
		{`{"preferences":{"min_priority":"elevated"}}`, mess.Normal, 3, false},
		{`{"preferences":{"min_priority":"elevated"}}`, mess.Urgent, 3, true},
		{`{"preferences":{"min_priority":"?"}}`, mess.Background, 3, false},
		{`{"preferences":{` + quiet + `}}`, mess.Elevated, 23, false},
		{`{"preferences":{` + quiet + `}}`, mess.Elevated, 6, false},
		{`{"preferences":{` + quiet + `}}`, mess.Elevated, 7, true},
		{`{"preferences":{` + quiet + `}}`, mess.Elevated, 21, true},
		{`{"preferences":{` + quiet + `}}`, mess.Urgent, 23, true},
		{`{"preferences":{"quiet_hours":{"enabled":false,"start":"00:00","end":"23:00"}}}`, mess.Normal, 12, true},
		{`{"preferences":{"quiet_hours":{"enabled":true,"start":"09:00","end":"17:00"}}}`, mess.Normal, 12, false},
		{`{"preferences":{"quiet_hours":{"enabled":true}}}`, mess.Normal, 23, false},
		{`{"preferences":{"quiet_hours":{"enabled":true,"start":"99:00","end":7}}}`, mess.Normal, 12, true},
		{`{"preferences":7}`, mess.Normal, 12, true},
	} {
		profile, err := mess.ParseObject([]byte(c.prefs))
		if err != nil {
			t.Fatal(err)
		}
		if got := webhook.Wants(profile, c.priority, at(c.hour)); got != c.want {
			t.Errorf("%s, %s at %d: %v", c.prefs, c.priority, c.hour, got)
		}
	}
}

// A person gets a notification of each offer, once, and not of offers to robots. ntfy gets
// text.
func TestPeopleGetTheirOffersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		defer h.stop()
		h.post("pi", `{"config":{"executor":{"id":"pi","capabilities":["look"]}}}`)
		h.post("own", `{"config":{"executor":{"id":"own","kind":"person","capabilities":["look"],"notifications":[{"type":"ntfy","url":"https://ntfy.example/topic"}]}}}`)
		ref := h.post("agent", `{"request":{"intent":"Look <there> & tell","requires":["look"]}}`)
		h.settle(time.Second)
		if n := len(h.all("ntfy.example")); n != 0 {
			t.Errorf("%d notifications before the robot has declined, want 0", n)
		}
		h.post("pi", `{"status":{"re":"`+ref+`","code":"declined","reason":"no eyes"}}`)
		h.settle(time.Second)
		notifications := h.all("ntfy.example")
		if len(notifications) != 1 || string(notifications[0].body) != "Look <there> & tell" || notifications[0].head.Get("Title") != "messkit: a task for you" {
			t.Fatalf("notifications: %+v", notifications)
		}
		h.post("own", `{"status":{"re":"`+ref+`","code":"claimed"}}`)
		h.post("agent", `{"cancel":{"re":"`+ref+`"}}`)
		h.settle(time.Second)
		if n := len(h.all("ntfy.example")); n != 2 {
			t.Errorf("%d notifications, want 2: the offer and its withdrawal", n)
		}
	})
}

// A test reports the result of each address at once, and has a rate limit because an address
// may belong to another person.
func TestTestNotificationReportsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		defer h.stop()
		if _, err := h.hooks.SendTest(t.Context(), "ana"); err == nil || !strings.Contains(err.Error(), "not registered") {
			t.Errorf("an unregistered person: %v", err)
		}
		h.post("ana", `{"config":{"executor":{"id":"ana","kind":"person","capabilities":["look"]}}}`)
		if _, err := h.hooks.SendTest(t.Context(), "ana"); err == nil || !strings.Contains(err.Error(), "no address") {
			t.Errorf("no address: %v", err)
		}
		h.post("ana", `{"config":{"executor":{"id":"ana","notifications":[{"type":"ntfy","url":"https://ntfy.example/topic"},{"type":"webhook","url":"https://own.example/hook?token=sesame","secret":"s"},{"type":"webhook","url":"https://gone.example/"},{"type":"webhook","url":"https://not.example/"}]}}}`)
		h.mu.Lock()
		h.receiver["not.example"] = func(context.Context, int) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
		}
		h.receiver["gone.example"] = func(context.Context, int) (*http.Response, error) { return nil, errors.New("no route to host") }
		h.mu.Unlock()
		list, err := h.hooks.SendTest(t.Context(), "ana")
		if err != nil {
			t.Fatal(err)
		}
		var states []webhook.State
		for _, e := range list {
			states = append(states, e.State)
			if e.Event != "test" || e.Executor != "ana" || e.Tries != 1 || strings.Contains(fmt.Sprint(e), "sesame") {
				t.Errorf("%+v", e)
			}
		}
		if want := []webhook.State{webhook.Delivered, webhook.Delivered, webhook.GivenUp, webhook.Rejected}; !slices.Equal(states, want) {
			t.Errorf("%v, want %v", states, want)
		}
		if got := h.all("ntfy.example"); len(got) != 1 || got[0].head.Get("Title") != "messkit: a test" || !strings.HasPrefix(string(got[0].body), "This is a test") {
			t.Errorf("ntfy: %+v", got)
		}
		own := h.all("own.example")
		if len(own) != 1 || own[0].head.Get("X-Mess-Event") != "test" || !json.Valid(own[0].body) ||
			own[0].head.Get("X-Mess-Signature") != webhook.Sign([]byte("s"), own[0].head.Get("X-Mess-Timestamp"), own[0].head.Get("X-Mess-Delivery"), own[0].body) {
			t.Errorf("webhook: %+v", own)
		}
		if n := len(h.hooks.Deliveries(exchange.Actor{ID: "ana"})); n != 4 {
			t.Errorf("%d in the log", n)
		}
		if _, err := h.hooks.SendTest(t.Context(), "ana"); err == nil || !strings.Contains(err.Error(), "a moment ago") {
			t.Errorf("at once again: %v", err)
		}
		h.settle(6 * time.Second)
		if _, err := h.hooks.SendTest(t.Context(), "ana"); err != nil {
			t.Error(err)
		}
	})
}
