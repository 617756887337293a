package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/push/pushtest"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/wait"
)

// sharedStore is a memory store that several exchanges use.
type sharedStore struct{ *memory.Store }

func (sharedStore) Shared() {}

// newNodes returns the consoles of two exchanges over one store. Both follow its feed.
func newNodes(t *testing.T) (a, b *harness) {
	t.Helper()
	store := sharedStore{memory.New()}
	nodes := [2]*harness{}
	for i := range nodes {
		h := newHarnessOver(t, store)
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = h.x.Run(ctx) })
		t.Cleanup(func() { stop(); running.Wait() })
		if err := h.k.Share(h.x, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		nodes[i] = h
	}
	a, b = nodes[0], nodes[1]
	a.awaitFeedOf(b)
	b.awaitFeedOf(a)
	return a, b
}

// awaitFeedOf waits until another exchange follows the feed of the store.
func (h *harness) awaitFeedOf(other *harness) {
	h.Helper()
	if err := h.x.SaveChannelState(h.Context(), "test", h.s.URL, []byte("1")); err != nil {
		h.Fatal(err)
	}
	for other.x.ChannelDocument("test", h.s.URL) == nil {
		if !wait.For(h.Context(), time.Millisecond) {
			h.Fatal("the other exchange does not follow the feed")
		}
	}
}

// moved returns a browser at this exchange with the session that a browser has at another one.
func (h *harness) moved(from *harness, b *http.Client) *http.Client {
	h.Helper()
	there, err := url.Parse(from.s.URL)
	if err != nil {
		h.Fatal(err)
	}
	here, err := url.Parse(h.s.URL)
	if err != nil {
		h.Fatal(err)
	}
	to := h.browser()
	for _, cookie := range b.Jar.Cookies(there) {
		cookie.Name = "messkit-" + here.Port()
		to.Jar.SetCookies(here, []*http.Cookie{cookie})
	}
	return to
}

// within waits for a state that must come within a second.
func (h *harness) within(what string, is func() bool) {
	h.Helper()
	for end := time.Now().Add(time.Second); !is(); {
		if time.Now().After(end) || !wait.For(h.Context(), 5*time.Millisecond) {
			h.Fatalf("%s: not within a second", what)
		}
	}
}

func (h *harness) status(b *http.Client, method, path, body string) int {
	h.Helper()
	code, _, _ := h.call(b, method, path, body)
	return code
}

// A browser that has signed in at one exchange is signed in at the other one. A sign-out at one of them
// ends the session and its streams at both.
func TestSessionsOfTwoExchanges(t *testing.T) {
	a, b := newNodes(t)
	browser, _ := a.signIn("ana", operator)
	there := b.moved(a, browser)
	b.within("the session at the other exchange", func() bool { return b.status(there, http.MethodGet, "/console/who", "") == http.StatusOK })
	ended := make(chan struct{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = strings.TrimPrefix(a.s.URL, "http://")
	for _, cookie := range browser.Jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	a.c.WatchSession(r, func() { close(ended) })
	b.wantStatus(http.StatusOK, there, http.MethodDelete, "/console/session", "")
	select {
	case <-ended:
	case <-time.After(time.Second):
		t.Error("a stream of the session has not ended within a second")
	}
	if code := a.status(browser, http.MethodGet, "/console/who", ""); code != http.StatusUnauthorized {
		t.Errorf("after the sign-out at the other exchange: %d", code)
	}
}

// A change of a session at one exchange brings no session back that another one has ended.
func TestEndedSessionStaysEnded(t *testing.T) {
	a, b := newNodes(t)
	phone, err := pushtest.NewBrowser("https://push.example/one")
	if err != nil {
		t.Fatal(err)
	}
	subscription, err := json.Marshal(phone.Subscription())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		key, err := a.k.Admit("ana", "Ana", keys.Access{Role: keys.PersonResident})
		if err != nil {
			t.Fatal(err)
		}
		browser := a.browser()
		a.wantStatus(http.StatusOK, browser, http.MethodPost, "/console/session", `{"key":"`+key+`"}`)
		there := b.moved(a, browser)
		b.within("the session at the other exchange", func() bool { return b.status(there, http.MethodGet, "/console/who", "") == http.StatusOK })
		subscribe := func(on string) {
			a.wantStatus(http.StatusOK, browser, http.MethodPost, "/console/notices", `{"do":"`+on+`","subscription":`+string(subscription)+`}`)
		}
		subscribe("subscribe")
		b.within("the subscription at the other exchange", func() bool { return len(b.c.Subscriptions("ana")) == 1 })
		changed := b.c.SubscriptionsChanged()
		var both sync.WaitGroup
		both.Go(func() { // it may have no session any more
			a.status(browser, http.MethodPost, "/console/notices", `{"do":"unsubscribe"}`)
			a.status(browser, http.MethodPost, "/console/notices", `{"do":"subscribe","subscription":`+string(subscription)+`}`)
		})
		both.Go(func() { b.wantStatus(http.StatusOK, there, http.MethodDelete, "/console/session", "") })
		both.Wait()
		a.within("the end of the session", func() bool { return a.status(browser, http.MethodGet, "/console/who", "") == http.StatusUnauthorized })
		for _, h := range []*harness{a, b} {
			h.within(fmt.Sprint("no session in round ", n), func() bool { return len(h.x.ChannelState("console")) == 0 && len(h.c.Subscribed()) == 0 })
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
			t.Error("nobody learns of the end of the subscription")
		}
	}
}

// An invitation and a sign-in of one exchange work once, at any of two, also if both get it at the same
// moment.
func TestLinksWorkOnceAtTwoExchanges(t *testing.T) {
	a, b := newNodes(t)
	op, _ := a.signIn("op", operator)
	for n := range 10 { // an actor has at most 16 sessions
		for path, body := range map[string]string{"/console/invite": fmt.Sprintf(`{"name":"Ana %d","role":"viewer"}`, n), "/console/link": `{}`} {
			token := a.linkToken(a.wantStatus(http.StatusCreated, op, http.MethodPost, path, body))
			isStored := func(h *harness) bool {
				return len(h.x.ChannelState("console-invitations"))+len(h.x.ChannelState("console-links")) == 1
			}
			b.within("the link at the other exchange", func() bool { return isStored(b) })
			var codes [4]int
			var all sync.WaitGroup
			for i := range codes {
				h := []*harness{a, b}[i%2]
				client := h.browser()
				all.Go(func() { codes[i] = h.status(client, http.MethodPost, "/console/session", `{"link":"`+token+`"}`) })
			}
			all.Wait()
			slices.Sort(codes[:])
			if codes != [4]int{200, 401, 401, 401} {
				t.Errorf("%s: the answers are %v, want one 200", path, codes)
			}
			a.within("no link", func() bool { return !isStored(a) && !isStored(b) })
		}
	}
}

// An invitation that one exchange withdraws does not work at the other one.
func TestWithdrawnInvitationOfOtherExchange(t *testing.T) {
	a, b := newNodes(t)
	opA, _ := a.signIn("op", operator)
	token := a.linkToken(a.wantStatus(http.StatusCreated, opA, http.MethodPost, "/console/invite", `{"name":"Ana","role":"viewer"}`))
	opB := b.moved(a, opA)
	var list peopleList
	b.within("the invitation at the other exchange", func() bool {
		code, text, _ := b.call(opB, http.MethodGet, "/console/people", "")
		return code == http.StatusOK && json.Unmarshal([]byte(text), &list) == nil && len(list.Invitations) == 1
	})
	withdraw := `{"do":"withdraw","invitation":"` + list.Invitations[0].ID + `"}`
	b.wantStatus(http.StatusOK, opB, http.MethodPost, "/console/people", withdraw)
	a.within("the end of the invitation", func() bool {
		return a.status(a.browser(), http.MethodPost, "/console/session", `{"link":"`+token+`"}`) == http.StatusUnauthorized
	})
	if code := b.status(opB, http.MethodPost, "/console/people", withdraw); code == http.StatusOK {
		t.Error("an invitation was withdrawn twice")
	}
}

// Two exchanges change the notice settings of a person at the same time. No change is lost.
func TestSettingsOfTwoExchanges(t *testing.T) {
	a, b := newNodes(t)
	for n := range 20 {
		person := fmt.Sprint("op", n)
		key, err := a.k.Admit(person, person, keys.Access{Role: keys.PersonOperator})
		if err != nil {
			t.Fatal(err)
		}
		browsers := [2]*http.Client{}
		for i, h := range []*harness{a, b} {
			browsers[i] = h.browser()
			h.within("the key", func() bool {
				return h.status(browsers[i], http.MethodPost, "/console/session", `{"key":"`+key+`"}`) == http.StatusOK
			})
		}
		var both sync.WaitGroup
		both.Go(func() {
			a.wantStatus(http.StatusOK, browsers[0], http.MethodPost, "/console/notices", `{"do":"add","type":"ntfy","url":"https://ntfy.sh/a"}`)
		})
		both.Go(func() {
			b.wantStatus(http.StatusOK, browsers[1], http.MethodPost, "/console/notices", `{"do":"add","type":"ntfy","url":"https://ntfy.sh/b"}`)
		})
		both.Wait()
		for _, h := range []*harness{a, b} {
			h.within("both addresses", func() bool {
				list, _ := h.c.Settings(person).Get("notifications")
				all, _ := list.([]any)
				return len(all) == 2
			})
		}
	}
}

var _ exchange.Store = sharedStore{}
