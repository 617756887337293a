package webhook_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/exchange/push/pushtest"
	"github.com/messkit/messkit/mess"
)

// house has the people of a page.
type house struct {
	mu       sync.Mutex
	settings map[string]string // in JSON, by person
	browsers map[string][]push.Subscription
	changed  chan struct{}
}

func (p *house) Persons() []string { return []string{"ana", "gus"} }

func (p *house) Settings(person string) (o mess.Object) {
	_ = json.Unmarshal([]byte(p.settings[person]), &o) // "" is no object
	return o
}

func (p *house) Subscriptions(actor string) []push.Subscription {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.browsers[actor])
}

func (p *house) Subscribed() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, all := range p.browsers {
		if len(all) > 0 {
			list = append(list, id)
		}
	}
	return list
}

func (p *house) SubscriptionsChanged() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *house) EndSubscription(actor, endpoint string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.browsers[actor] = slices.DeleteFunc(p.browsers[actor], func(s push.Subscription) bool { return s.Endpoint == endpoint })
}

// roles gives ana the rights of a resident, and gus those of a guest.
type roles struct{ keyring }

func (k roles) Shared(id string) (exchange.Actor, []byte, bool) {
	a, secret, ok := k.keyring.Shared(id)
	switch id {
	case "ana":
		a.Roles = exchange.Requester | exchange.Observer
	case "gus":
		a.Roles, a.Scope = 0, &exchange.Scope{}
	}
	return a, secret, ok
}

// home is an exchange with notices, people and push messages.
type home struct {
	*fixture
	people *house
	log    *notices.Log
	push   *push.Keys
	phone  *pushtest.Browser // of ana
}

func openHome(t *testing.T) *home {
	t.Helper()
	h := &home{fixture: &fixture{T: t, dir: t.TempDir(), keys: keyring{}, got: map[string][]received{}, receiver: map[string]func(context.Context, int) (*http.Response, error){}}}
	log := slog.New(slog.NewTextHandler(&h.fixture.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg := exchange.DefaultConfig()
	cfg.Confirm = exchange.ConfirmScript
	var err error
	if h.x, err = exchange.Open(t.Context(), cfg, newStore(), time.Now, log); err != nil {
		t.Fatal(err)
	}
	if h.push, err = push.Open(h.dir); err != nil {
		t.Fatal(err)
	}
	if h.phone, err = pushtest.NewBrowser("https://push.example/secret-of-ana"); err != nil {
		t.Fatal(err)
	}
	h.people = &house{settings: map[string]string{}, changed: make(chan struct{}), browsers: map[string][]push.Subscription{"ana": {h.phone.Subscription()}}}
	h.begin(webhook.Config{}, log)
	return h
}

// begin runs everything until stop.
func (h *home) begin(cfg webhook.Config, log *slog.Logger) {
	h.Helper()
	var err error
	if h.hooks, err = webhook.Open(h.x, roles{h.keys}, cfg, h.dir, log); err != nil {
		h.Fatal(err)
	}
	h.log = notices.Open(h.x, log)
	h.hooks.Serve(h.people, h.log, h.push)
	webhook.Through(h.hooks, h.fixture)
	ctx, cancel := context.WithCancel(h.Context())
	var wg sync.WaitGroup
	for _, run := range []func(context.Context) error{h.x.Run, h.log.Run, h.hooks.Run} {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				h.Error(err)
			}
		})
	}
	h.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	synctest.Wait()
}

// ask makes a task of the agent that waits for an answer, and returns its ref.
func (h *home) ask(priority string) string {
	h.Helper()
	h.post("pi", `{"config":{"executor":{"id":"pi","capabilities":["look"]}}}`)
	ref := h.post("agent", `{"request":{"intent":"Look at the oven","requires":["look"],"priority":"`+priority+`"}}`)
	h.post("pi", `{"re":"`+ref+`","MESS":[{"status":{"code":"claimed"}}]}`)
	h.post("pi", `{"re":"`+ref+`","epoch":1,"MESS":[{"status":{"code":"needs_input","questions":[{"field":"oven","question":"Which oven?"}]}}]}`)
	h.settle(10 * time.Millisecond)
	return ref
}

// read decrypts a message for the phone of ana.
func (h *home) read(r received) (p struct{ Kind, URL, Intent, Text, Tag string }) {
	h.Helper()
	data, err := h.phone.Open(r.head, r.body, h.push.Public(), r.at)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		h.Error(err)
	}
	return p
}

// A person with a subscribed browser gets a question, encrypted, and again after a failure of the push
// service. A guest who may not see the task gets nothing.
func TestPushMessageOfQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t)
		defer h.stop()
		h.people.settings = map[string]string{"ana": `{"notifications":[{"type":"ntfy","url":"https://ntfy.example/topic-of-ana"}]}`, "gus": `{"notifications":[{"type":"ntfy","url":"https://gus.example/topic"}]}`}
		h.receiver["push.example"] = func(_ context.Context, n int) (*http.Response, error) {
			return code(map[bool]int{true: 503, false: 201}[n < 3])
		}
		ref := h.ask("normal")
		h.settle(time.Minute)
		all := h.all("push.example")
		if len(all) != 3 {
			t.Fatalf("%d attempts, want 3", len(all))
		}
		if p := h.read(all[2]); p.Kind != "question" || p.URL != "/#task/"+ref || p.Intent != "Look at the oven" || p.Text != "Which oven?" || p.Tag != ref {
			t.Errorf("the browser reads %+v", p)
		}
		if all[0].head.Get("Topic") != all[2].head.Get("Topic") || all[2].head.Get("Urgency") != "high" {
			t.Errorf("heads %v", all[2].head)
		}
		topic := h.all("ntfy.example")
		if len(topic) != 1 || string(topic[0].body) != "Look at the oven: Which oven?" || topic[0].head.Get("Title") != "messkit: a question" {
			t.Errorf("ntfy got %v", topic)
		}
		if n := len(h.all("gus.example")); n != 0 {
			t.Errorf("the guest got %d notices of a task of others", n)
		}
		if list := h.hooks.Deliveries(exchange.Actor{ID: "ana"}); len(list) != 2 || list[0].State != webhook.Delivered || list[1].State != webhook.Delivered {
			t.Errorf("log: %+v", list)
		}
		sent, _ := json.Marshal(h.hooks.Deliveries(exchange.Actor{ID: "operator", Roles: exchange.Operator}))
		for _, secret := range []string{"secret-of-ana", "topic-of-ana", h.phone.Subscription().Keys.Auth} {
			if strings.Contains(string(sent)+h.fixture.log.String(), secret) {
				t.Errorf("the log has the secret %s", secret)
			}
		}
	})
}

// A push service that does not know a browser any more ends its subscription, with one attempt.
func TestGoneBrowserIsForgotten(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusGone} {
		synctest.Test(t, func(t *testing.T) {
			h := openHome(t)
			defer h.stop()
			h.receiver["push.example"] = func(context.Context, int) (*http.Response, error) { return code(status) }
			h.ask("normal")
			h.settle(time.Hour)
			list := h.hooks.Deliveries(exchange.Actor{ID: "ana"})
			if n := len(h.all("push.example")); n != 1 || len(h.people.Subscriptions("ana")) != 0 || len(list) != 1 || list[0].State != webhook.Rejected {
				t.Errorf("%d attempts, %d subscriptions, log %+v", n, len(h.people.Subscriptions("ana")), list)
			}
		})
	}
}

// A question that has its answer is not sent any more.
func TestSettledNoticeIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t)
		defer h.stop()
		h.receiver["push.example"] = func(_ context.Context, n int) (*http.Response, error) {
			return code(map[bool]int{true: 503, false: 201}[n < 2])
		}
		ref := h.ask("normal")
		h.post("agent", `{"reply":{"re":"`+ref+`","answers":{"oven":"left"}}}`)
		h.settle(time.Hour)
		if n := len(h.all("push.example")); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
		if list := h.hooks.Deliveries(exchange.Actor{ID: "ana"}); len(list) != 1 || !strings.Contains(list[0].Err, "needs nobody") {
			t.Errorf("log: %+v", list)
		}
	})
}

// In the quiet hours of a person only urgent notices go out, to the minute.
func TestQuietHoursOfPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t)
		defer h.stop()
		now := time.Now()
		for quiet, want := range map[[2]time.Duration]int{{-time.Minute, 2 * time.Minute}: 0, {time.Hour, 2 * time.Hour}: 1, {-time.Hour, time.Hour}: 0, {time.Hour, -time.Hour}: 1} {
			h.people.settings["ana"] = `{"preferences":{"quiet_hours":{"enabled":true,"start":"` + now.Add(quiet[0]).Format("15:04") + `","end":"` + now.Add(quiet[1]).Format("15:04") + `"}}}`
			before := len(h.all("push.example"))
			h.ask("normal")
			if got := len(h.all("push.example")) - before; got != want {
				t.Errorf("quiet %v: %d notices, want %d", quiet, got, want)
			}
			h.ask("urgent")
			if got := len(h.all("push.example")) - before - want; got != 1 {
				t.Errorf("quiet %v: %d urgent notices, want 1", quiet, got)
			}
		}
	})
}

// A test goes to every address and browser of a person, and shows the result of each.
func TestTestNoticeOfPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t)
		defer h.stop()
		h.people.settings["ana"] = `{"notifications":[{"type":"ntfy","url":"https://ntfy.example/topic"}]}`
		h.receiver["ntfy.example"] = func(context.Context, int) (*http.Response, error) { return code(403) }
		list, err := h.hooks.SendTest(t.Context(), "ana")
		if err != nil || len(list) != 2 || list[0].State != webhook.Rejected || list[1].State != webhook.Delivered {
			t.Fatalf("%+v, %v", list, err)
		}
		if p := h.read(h.all("push.example")[0]); p.Kind != "test" {
			t.Errorf("the browser reads %+v", p)
		}
		if _, err := h.hooks.SendTest(t.Context(), "gus"); err == nil {
			t.Error("a person without an address gets a test")
		}
		if _, err := h.hooks.SendTest(t.Context(), "nobody"); err == nil {
			t.Error("an unknown actor gets a test")
		}
	})
}

// A person who takes tasks gets an offer in the browser.
func TestPushMessageOfOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t)
		defer h.stop()
		h.post("ben", `{"config":{"executor":{"id":"ben","kind":"person","capabilities":["water-plants"]}}}`)
		h.people.mu.Lock()
		h.people.browsers["ben"] = []push.Subscription{h.phone.Subscription()}
		close(h.people.changed)
		h.people.changed = make(chan struct{})
		h.people.mu.Unlock()
		h.settle(time.Second)
		h.post("agent", `{"request":{"intent":"Water the plants","requires":["water-plants"]}}`)
		h.settle(5 * time.Minute)
		all := h.all("push.example")
		if len(all) != 1 {
			t.Fatalf("%d messages, want 1", len(all))
		}
		if p := h.read(all[0]); p.Kind != "offer" || p.URL != "/me" || p.Intent != "Water the plants" {
			t.Errorf("the browser reads %+v", p)
		}
	})
}

// No push message goes to this machine or the local network, whatever a browser says.
func TestNoPushMessageToThisMachine(t *testing.T) {
	hits := 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer s.Close()
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), newStore(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hooks, err := webhook.Open(x, roles{keyring{}}, webhook.Config{}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	k, err := push.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "https://"), ":")
	p := &house{browsers: map[string][]push.Subscription{}, changed: make(chan struct{})}
	hosts := []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"}
	for _, host := range hosts {
		b, err := pushtest.NewBrowser("https://" + host + ":" + port + "/")
		if err != nil {
			t.Fatal(err)
		}
		p.browsers["ana"] = append(p.browsers["ana"], b.Subscription())
	}
	hooks.Serve(p, notices.Open(x, slog.New(slog.DiscardHandler)), k)
	list, err := hooks.SendTest(t.Context(), "ana")
	if err != nil || len(list) != len(hosts) || hits != 0 {
		t.Fatalf("%+v, %v, %d connections", list, err, hits)
	}
	for _, e := range list {
		if e.State != webhook.Rejected || !strings.Contains(e.Err, "webhooks: allow:") {
			t.Errorf("%+v", e)
		}
	}
}
