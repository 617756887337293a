package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/exchange/push/pushtest"
	"github.com/messkit/messkit/mess"
)

// A person reads and changes her own addresses. Other fields and secrets stay, and the answers do
// not contain them.
func TestNotificationAddresses(t *testing.T) {
	h := newHarness(t)
	ana, _ := h.signIn("ana", exchange.Requester|exchange.ExecutorRole)
	agent, _ := h.signIn("agent", exchange.Requester)
	const path = "/console/notices"
	h.wantStatus(http.StatusConflict, agent, http.MethodGet, path, "") // neither an executor nor a person
	h.wantStatus(http.StatusConflict, ana, http.MethodGet, path, "")   // not registered
	h.register("ana", `"capabilities": ["look"], "preferences": {"min_priority": "urgent"}, "notifications": [{"type": "pager", "number": 7}, {"type": "webhook", "url": "https://a.example/", "secret": "sesame", "more": 1}]`)
	if text := h.wantStatus(http.StatusOK, ana, http.MethodGet, path, ""); !strings.Contains(text, `{"type":"webhook","url":"https://a.example/"}`) || !strings.Contains(text, "urgent") || strings.Contains(text, "sesame") {
		t.Error(text)
	}
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{`{"do":"add","type":"ntfy","url":"https://ntfy.example/t"}`, http.StatusOK, `{"type":"ntfy","url":"https://ntfy.example/t"}`},
		{`{"do":"add","type":"ntfy","url":"https://ntfy.example/t"}`, http.StatusConflict, "already"},
		{`{"do":"add","type":"ntfy","url":"javascript:alert(1)"}`, http.StatusBadRequest, "no address"},
		{`{"do":"add","type":"ntfy","url":"https:///t"}`, http.StatusBadRequest, "no address"},
		{`{"do":"add","type":"ntfy","url":"https://x.example/` + strings.Repeat("x", 1000) + `"}`, http.StatusBadRequest, "no address"},
		{`{"do":"add","type":"push","url":"https://x.example/"}`, http.StatusBadRequest, "ntfy or webhook"},
		{`{"do":"add","type":"webhook","url":"https://b.example/"}`, http.StatusOK, "b.example"},
		{`{"do":"add","type":"webhook","url":"https://c.example/"}`, http.StatusConflict, "remove one first"},
		{`{"do":"remove","url":"https://other.example/"}`, http.StatusNotFound, "no such address"},
		{`{"do":"remove","url":""}`, http.StatusNotFound, "no such address"},
		{`{"do":"remove","url":"https://b.example/"}`, http.StatusOK, "a.example"},
		{`{"do":"try"}`, http.StatusConflict, "sends no notifications"},
		{`{"do":"dance"}`, http.StatusBadRequest, "is unknown"},
		{`[`, http.StatusBadRequest, "JSON"},
		{`{"do":5}`, http.StatusBadRequest, "is of the wrong kind (number)"},
		{`[]`, http.StatusBadRequest, "the body: is of the wrong kind (array)"},
	} {
		if text := h.wantStatus(c.code, ana, http.MethodPost, path, c.body); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.body, text)
		}
	}
	list, _ := h.x.Executors()[0].Extra.Get("notifications")
	all, _ := list.([]any)
	if len(all) != 3 {
		t.Fatalf("registered: %v", list)
	}
	hook, _ := all[1].(mess.Object)
	if secret, _ := hook.Get("secret"); secret != "sesame" {
		t.Errorf("the secret is lost: %v", hook)
	}
	if more, _ := hook.Get("more"); more == nil {
		t.Errorf("the other addresses are lost: %v", hook)
	}
}

// A person without a registration has addresses and quiet hours, which stay over a restart and go with
// the person.
func TestNoticeSettingsOfPerson(t *testing.T) {
	h := newHarness(t)
	const path = "/console/notices"
	vic := h.admit("vic", "viewer")
	h.wantStatus(http.StatusOK, vic, http.MethodPost, path, `{"do":"add","type":"ntfy","url":"https://ntfy.example/t"}`)
	h.wantStatus(http.StatusOK, vic, http.MethodPost, path, `{"do":"quiet","quiet":{"enabled":true,"start":"21:30","end":"06:00"}}`)
	for _, body := range []string{`{"start":"25:00","end":"06:00"}`, `{"start":"21:30","end":"6"}`, `{"start":"21:30","end":"21:30"}`, `{}`} {
		h.wantStatus(http.StatusBadRequest, vic, http.MethodPost, path, `{"do":"quiet","quiet":`+body+`}`)
	}
	h.start()
	want := `{"notices":[{"type":"ntfy","url":"https://ntfy.example/t"}],"preferences":{"quiet_hours":{"enabled":true,"start":"21:30","end":"06:00"}}`
	if text := h.wantStatus(http.StatusOK, vic, http.MethodGet, path, ""); !strings.HasPrefix(text, want) {
		t.Errorf("after a restart: %s", text)
	}
	if got := h.c.Settings("vic").Text("actor"); got != "vic" || !slices.Contains(h.c.Persons(), "vic") {
		t.Errorf("settings of %q, persons %v", got, h.c.Persons())
	}
	op, _ := h.signIn("op", operator)
	h.wantStatus(http.StatusOK, op, http.MethodPost, "/console/people", `{"do":"remove","actor":"vic"}`)
	h.start()
	if got := h.c.Settings("vic"); got != nil {
		t.Errorf("the removed person has the settings %v", got)
	}
}

// The language of notices at addresses is that of the page where a person adds the first address, until
// the person chooses another one. An unknown language changes nothing.
func TestLanguageOfNotices(t *testing.T) {
	h := newHarness(t)
	const path = "/console/notices"
	ana, _ := h.signIn("ana", exchange.Requester|exchange.ExecutorRole)
	h.register("ana", `"capabilities": ["look"]`)
	for name, b := range map[string]*http.Client{"vic": h.admit("vic", "viewer"), "ana": ana} {
		h.wantStatus(http.StatusBadRequest, b, http.MethodPost, path, `{"do":"add","type":"ntfy","url":"https://ntfy.example/1","language":"fr"}`)
		h.wantStatus(http.StatusBadRequest, b, http.MethodPost, path, `{"do":"language"}`)
		if text := h.wantStatus(http.StatusOK, b, http.MethodGet, path, ""); !strings.HasPrefix(text, `{"notices":[]`) || strings.Contains(text, "language") {
			t.Errorf("%s: an invalid language has changed the settings: %s", name, text)
		}
		for _, c := range []struct{ body, want string }{
			{`{"do":"add","type":"ntfy","url":"https://ntfy.example/1"}`, ""},
			{`{"do":"add","type":"ntfy","url":"https://ntfy.example/2","language":"de"}`, "de"},
			{`{"do":"add","type":"ntfy","url":"https://ntfy.example/3","language":"en"}`, "de"},
			{`{"do":"language","language":"en"}`, "en"},
			{`{"do":"quiet","quiet":{"enabled":true,"start":"21:30","end":"06:00"}}`, "en"},
		} {
			var got struct {
				Notices     []any
				Preferences struct{ Language string }
			}
			text := h.wantStatus(http.StatusOK, b, http.MethodPost, path, c.body)
			if err := json.Unmarshal([]byte(text), &got); err != nil || got.Preferences.Language != c.want || len(got.Notices) == 0 {
				t.Errorf("%s: after %s: %s %v, want the language %q", name, c.body, text, err, c.want)
			}
		}
	}
}

// Browsers of one person change the notice settings at the same time, and none of the changes is lost.
func TestNoticeSettingsOfTwoBrowsers(t *testing.T) {
	h := newHarness(t)
	const path, rounds = "/console/notices", 50
	h.admit("vic", "viewer")
	ana, _ := h.signIn("ana", exchange.Requester|exchange.ExecutorRole)
	h.register("ana", `"capabilities": ["look"]`)
	for name, b := range map[string]*http.Client{"person": h.admit("vic", "viewer"), "executor": ana} {
		for n := range rounds {
			var g sync.WaitGroup
			for _, body := range []string{
				`{"do":"add","type":"ntfy","url":"https://ntfy.example/one"}`, `{"do":"add","type":"webhook","url":"https://two.example/"}`,
				fmt.Sprintf(`{"do":"quiet","quiet":{"enabled":true,"start":"21:%02d","end":"06:00"}}`, n),
			} {
				g.Go(func() { h.wantStatus(http.StatusOK, b, http.MethodPost, path, body) })
			}
			g.Wait()
			text := h.wantStatus(http.StatusOK, b, http.MethodGet, path, "")
			for _, want := range []string{"ntfy.example/one", "two.example", fmt.Sprintf(`"21:%02d"`, n)} {
				if !strings.Contains(text, want) {
					t.Fatalf("%s, round %d: %s is lost: %s", name, n, want, text)
				}
			}
			for _, address := range []string{"https://ntfy.example/one", "https://two.example/"} {
				h.wantStatus(http.StatusOK, b, http.MethodPost, path, `{"do":"remove","url":"`+address+`"}`)
			}
		}
	}
}

// A browser takes push messages until it turns them off, signs out, gets another user, or its user
// gets another key. A restart keeps the subscription.
func TestPushSubscriptionEndsWithSession(t *testing.T) {
	h := newHarness(t)
	const path = "/console/notices"
	subscribe := func(b *http.Client, s push.Subscription, code int) {
		t.Helper()
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		h.wantStatus(code, b, http.MethodPost, path, `{"do":"subscribe","subscription":`+string(text)+`}`)
	}
	want := func(when string, n int) {
		t.Helper()
		if got := h.c.Subscriptions("ana"); len(got) != n {
			t.Errorf("%s: %d subscriptions, want %d", when, len(got), n)
		}
	}
	phone, err := pushtest.NewBrowser("https://push.example/one")
	if err != nil {
		t.Fatal(err)
	}
	ana := h.admit("ana", "resident")
	changed := h.c.SubscriptionsChanged()
	bad := phone.Subscription()
	bad.Endpoint = "http://127.0.0.1/"
	subscribe(ana, bad, http.StatusBadRequest)
	subscribe(ana, phone.Subscription(), http.StatusOK)
	want("after the start", 1)
	select {
	case <-changed:
	default:
		t.Error("nobody learns of the subscription")
	}
	if got := h.c.Subscribed(); !slices.Equal(got, []string{"ana"}) {
		t.Errorf("subscribed: %v", got)
	}
	h.start()
	want("after a restart", 1)
	if text := h.wantStatus(http.StatusOK, ana, http.MethodGet, path, ""); !strings.Contains(text, `"push":{"key":"public","here":true,"browsers":1}`) || strings.Contains(text, "push.example") {
		t.Errorf("settings: %s", text)
	}
	h.wantStatus(http.StatusOK, ana, http.MethodPost, path, `{"do":"unsubscribe"}`)
	want("after it is turned off", 0)

	subscribe(ana, phone.Subscription(), http.StatusOK)
	h.c.EndSubscription("ana", "https://push.example/other")
	want("after the end of another one", 1)
	h.c.EndSubscription("ana", "https://push.example/one")
	want("after the push service has forgotten it", 0)

	subscribe(ana, phone.Subscription(), http.StatusOK)
	_, key := h.signIn("ben", exchange.Requester)
	h.wantStatus(http.StatusOK, ana, http.MethodPost, "/console/session", `{"key":"`+key+`"}`) // ben uses the browser of ana
	want("after another user has signed in", 0)

	ana = h.admit("ana", "resident")
	subscribe(ana, phone.Subscription(), http.StatusOK)
	vic := h.admit("vic", "viewer")
	subscribe(vic, phone.Subscription(), http.StatusOK) // the same browser
	want("after another person has it", 0)

	subscribe(ana, phone.Subscription(), http.StatusOK)
	h.wantStatus(http.StatusOK, ana, http.MethodDelete, "/console/session", "")
	want("after the sign-out", 0)

	ana = h.admit("ana", "resident")
	subscribe(ana, phone.Subscription(), http.StatusOK)
	h.admit("ana", "resident")
	want("under another key", 0)
	h.start()
	want("under another key, after a restart", 0)
}

// admit makes a person and returns a browser that the person has signed in.
func (h *harness) admit(id, role string) *http.Client {
	h.Helper()
	key, err := h.k.Admit(id, id, keys.Access{Role: role})
	if err != nil {
		h.Fatal(err)
	}
	b := h.browser()
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/session", `{"key":"`+key+`"}`)
	return b
}

// register enters an executor with a profile in JSON.
func (h *harness) register(id, profile string) {
	h.Helper()
	m, err := mess.Parse([]byte(`{"config":{"executor":{"id":"` + id + `",` + profile + `}}}`))
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.x.Post(h.Context(), exchange.Inbound{Actor: exchange.Actor{ID: id, Roles: exchange.ExecutorRole}, Channel: "http", Message: m}); err != nil {
		h.Fatal(err)
	}
}

// An exchange with its own authority serves the certificate to everybody, and the settings have its link
// as a QR code with the fingerprint. A page on the machine of the exchange has no link for a phone if no
// phone reaches the exchange.
func TestAuthorityForPhones(t *testing.T) {
	h := newHarness(t)
	const notices, certificate = "/console/notices", "/console/authority.crt"
	vic := h.admit("vic", "viewer")
	if text := h.wantStatus(http.StatusOK, vic, http.MethodGet, notices, ""); strings.Contains(text, "authority") {
		t.Errorf("without an authority: %s", text)
	}
	h.wantStatus(http.StatusUnauthorized, h.browser(), http.MethodGet, certificate, "")
	h.authority = []byte("abc")
	h.start()
	code, text, head := h.call(h.browser(), http.MethodGet, certificate, "")
	if code != http.StatusOK || text != "abc" || head.Get("Content-Type") != "application/x-x509-ca-cert" {
		t.Errorf("%d %q %v", code, text, head)
	}
	var got struct {
		Push struct {
			Authority struct {
				Link, Fingerprint string
				Dots              []string
			}
		}
	}
	text = h.wantStatus(http.StatusOK, vic, http.MethodGet, notices, "", "Host", h.addressAs("pi.local"))
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	a := got.Push.Authority
	link := strings.Replace(h.addressAs("pi.local"), "http:", "https:", 1) + certificate
	dots, err := console.QRCode(link)
	if err != nil || a.Link != link || !slices.Equal(a.Dots, dots) || !strings.HasPrefix(a.Fingerprint, "BA:78:16:BF:") || len(a.Fingerprint) != 95 {
		t.Errorf("for a phone: %s %v", text, err)
	}
	text = h.wantStatus(http.StatusOK, vic, http.MethodGet, notices, "")
	if !strings.Contains(text, `"authority":{"link":"","dots":null,"fingerprint":"BA:`) {
		t.Errorf("on the machine of the exchange: %s", text)
	}
}
