package push_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/exchange/push/pushtest"
)

func open(t *testing.T, dir string) *push.Keys {
	t.Helper()
	k, err := push.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The browser decrypts the message and accepts the signature of the exchange. Two messages of
// different lengths have the same size.
func TestBrowserReadsMessage(t *testing.T) {
	type sent struct {
		head http.Header
		body []byte
	}
	got := make(chan sent, 1)
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Header, body}
		w.WriteHeader(http.StatusCreated)
	}))
	defer service.Close()
	k := open(t, t.TempDir())
	b, err := pushtest.NewBrowser(service.URL + "/send/one?x=1")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, text := range []string{`{"kind":"test"}`, strings.Repeat("ä", push.MaxPayload/2)} {
		code, err := k.Send(t.Context(), service.Client(), b.Subscription(), push.Message{Payload: []byte(text), TTL: time.Hour, Urgent: true, Topic: "one"})
		if err != nil || code != http.StatusCreated {
			t.Fatal(code, err)
		}
		one := <-got
		payload, err := b.Open(one.head, one.body, k.Public(), time.Now())
		if err != nil || string(payload) != text {
			t.Errorf("the browser reads %.40q, %v", payload, err)
		}
		if one.head.Get("TTL") != "3600" || one.head.Get("Urgency") != "high" || one.head.Get("Topic") != "one" {
			t.Errorf("heads %v", one.head)
		}
		if size != 0 && size != len(one.body) {
			t.Errorf("messages of %d and %d bytes", size, len(one.body))
		}
		size = len(one.body)
		other, err := pushtest.NewBrowser(service.URL + "/send/one?x=1")
		if err != nil {
			t.Fatal(err)
		}
		if payload, err := other.Open(one.head, one.body, k.Public(), time.Now()); err == nil {
			t.Errorf("another browser reads %q", payload)
		}
		if _, err := b.Open(one.head, one.body, open(t, t.TempDir()).Public(), time.Now()); err == nil {
			t.Error("the browser takes the message for one of another exchange")
		}
	}
	if _, err := k.Send(t.Context(), service.Client(), b.Subscription(), push.Message{Payload: make([]byte, push.MaxPayload+1)}); err == nil {
		t.Error("a message that is too long goes out")
	}
}

// The browser of the tests reads the message of RFC 8291 section 5, so that it does not share a
// mistake with the sender.
func TestBrowserReadsExampleOfStandard(t *testing.T) {
	b, err := pushtest.BrowserOf("https://push.example/", "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "BTBZMqHH6r4Tts7J_aSIgg")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Subscription().Keys.P256dh; got != "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4" {
		t.Errorf("public key %s", got)
	}
	body, err := base64.RawURLEncoding.DecodeString("DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := b.Decrypt(body); err != nil || string(text) != "When I grow up, I want to be a watermelon" {
		t.Errorf("the browser reads %q, %v", text, err)
	}
}

// The keys stay over a restart, only their owner can read them, and an error does not show them.
func TestKeysStaySecret(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, push.KeyFile)
	public := open(t, dir).Public()
	if again := open(t, dir).Public(); again != public {
		t.Errorf("the key %s is %s after a restart", public, again)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var stored struct{ Public, Private string }
	if err := json.Unmarshal(data, &stored); err != nil || stored.Public != public {
		t.Fatal(stored.Public, err)
	}
	for _, text := range []string{"", "{", "{}", strings.Replace(string(data), public, open(t, t.TempDir()).Public(), 1), string(data)[:len(data)-10]} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := push.Open(dir)
		if err == nil || strings.Contains(err.Error(), stored.Private) || !strings.Contains(err.Error(), name) {
			t.Errorf("%.20q: %v, %v", text, k, err)
		}
		if now, _ := os.ReadFile(name); string(now) != text {
			t.Errorf("the unreadable file has changed to %q", now)
		}
	}
}

// Only a subscription to which a message can go is valid.
func TestHostileSubscriptionIsInvalid(t *testing.T) {
	b, err := pushtest.NewBrowser("https://push.example/send/one")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Subscription().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range []string{"", "http://push.example/", "https://", "https:///x", "https://user:key@push.example/", "https://push.example/#a", "ftp://push.example/", "javascript:alert(1)", "https://push.example/\r\nX: y", "https://push.example/ x", "https://push.example/" + strings.Repeat("x", 1000)} {
		s := b.Subscription()
		if s.Endpoint = endpoint; s.Validate() == nil {
			t.Errorf("%.60q is valid", endpoint)
		}
	}
	good := b.Subscription().Keys
	for _, keys := range [][2]string{{"", good.Auth}, {good.P256dh[:80], good.Auth}, {strings.Repeat("A", 87), good.Auth}, {good.P256dh, ""}, {good.P256dh, good.Auth + "AAAA"}, {good.P256dh, "!"}, {strings.Repeat("A", 1<<20), good.Auth}} {
		s := b.Subscription()
		if s.Keys.P256dh, s.Keys.Auth = keys[0], keys[1]; s.Validate() == nil {
			t.Errorf("%.100q is valid", keys)
		}
	}
	padded := b.Subscription()
	if padded.Keys.Auth += "=="; padded.Validate() != nil {
		t.Error("padding makes the key invalid")
	}
}

// No subscription makes Validate or Send panic, and a valid one has an https address.
func FuzzSubscription(f *testing.F) {
	b, err := pushtest.NewBrowser("https://push.example/send/one")
	if err != nil {
		f.Fatal(err)
	}
	s := b.Subscription()
	f.Add(s.Endpoint, s.Keys.P256dh, s.Keys.Auth)
	f.Add("https://[::1]:1/", "BA", "AA==")
	k, err := push.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	nowhere := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme != "https" || r.URL.Hostname() == "" {
			f.Errorf("a message goes to %s", r.URL)
		}
		return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
	})}
	f.Fuzz(func(t *testing.T, endpoint, key, auth string) {
		var s push.Subscription
		s.Endpoint, s.Keys.P256dh, s.Keys.Auth = endpoint, key, auth
		invalid := s.Validate()
		if _, err := k.Send(t.Context(), nowhere, s, push.Message{Payload: []byte("x")}); invalid != nil && err == nil {
			t.Errorf("a message goes to an invalid subscription: %v", invalid)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// documents has the documents of several exchanges.
type documents struct {
	mu  sync.Mutex
	doc []byte
}

func (d *documents) ChannelDocument(string, string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.doc
}

func (d *documents) ChangeChannelState(_ context.Context, _, _ string, change func(doc []byte) ([]byte, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc, err := change(d.doc)
	if err == nil {
		d.doc = doc
	}
	return err
}

// Exchanges that share documents have the same keys: those of the first one. Each folder has a copy.
func TestSharedKeys(t *testing.T) {
	docs, first := &documents{}, t.TempDir()
	own, err := push.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	var publics [4]string
	var all sync.WaitGroup
	for i, dir := range []string{first, t.TempDir(), t.TempDir(), t.TempDir()} {
		join := func() {
			k, err := push.OpenShared(t.Context(), dir, docs)
			if err != nil {
				t.Error(err)
				return
			}
			publics[i] = k.Public()
			if again, err := push.Open(dir); err != nil || again.Public() != k.Public() {
				t.Errorf("the folder has other keys: %v", err)
			}
		}
		if i == 0 {
			join()
			continue
		}
		all.Go(join)
	}
	all.Wait()
	if publics != [4]string{own.Public(), own.Public(), own.Public(), own.Public()} {
		t.Errorf("the exchanges have the keys %v", publics)
	}
	docs.doc = []byte("{}")
	if _, err := push.OpenShared(t.Context(), first, docs); err == nil || !strings.Contains(err.Error(), "restore the store") {
		t.Errorf("unreadable keys in the store: %v", err)
	}
}
