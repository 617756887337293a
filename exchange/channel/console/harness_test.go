package console_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// fakeDaemon is an executor on this host that records its calls.
type fakeDaemon struct {
	calls  []string
	unsafe bool // a device may be unsafe
}

func (h *fakeDaemon) State() any { return map[string]string{"executor": "pi"} }

func (h *fakeDaemon) Plan(_ string, _ []string, answers []mess.Object) any {
	return map[string]any{"plan": "none", "answers": len(answers)}
}

func (h *fakeDaemon) Stop(by, reason string) { h.calls = append(h.calls, "stop by "+by+": "+reason) }

func (h *fakeDaemon) ResetStop(by string, anyway bool) ([]string, error) {
	if h.unsafe && !anyway {
		return nil, errors.New("not known to be safe: lamp (no answer)")
	}
	h.calls = append(h.calls, "release by "+by)
	return []string{"one"}, nil
}

func (h *fakeDaemon) Arm(what string) error { h.calls = append(h.calls, "arm "+what); return nil }

func (h *fakeDaemon) Disarm(what, reason string) error {
	h.calls = append(h.calls, "disarm "+what)
	return nil
}

func (h *fakeDaemon) Lock(device, reason string) error {
	h.calls = append(h.calls, "lock "+device)
	return nil
}

func (h *fakeDaemon) Unlock(device string) error {
	h.calls = append(h.calls, "unlock "+device)
	return nil
}

// harness is a fixture: a console with a fake HTTP API, which knows the session and the address of a
// client.
type harness struct {
	*testing.T
	x      *exchange.Exchange
	k      *keys.Keys
	c      *console.Console
	s      *httptest.Server
	daemon fakeDaemon
	setup  *fakeSetup // nil: the program has no configuration of devices
	tls    bool       // the server uses TLS
	proof  exchange.Proof
	store  exchange.Store
	backup time.Time // of the last backup

	authority []byte // certificate of the exchange's authority
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	return newHarnessOver(t, memory.New())
}

func newHarnessOver(t *testing.T, store exchange.Store) *harness {
	t.Helper()
	h := &harness{T: t, store: store}
	var err error
	if h.x, err = exchange.Open(t.Context(), exchange.DefaultConfig(), h.store, time.Now, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if h.k, err = keys.Open(t.TempDir(), "home"); err != nil {
		t.Fatal(err)
	}
	h.start()
	h.s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := h.c.Pages()[r.URL.Path]; p != nil {
			p.ServeHTTP(w, r)
			return
		}
		who, err := h.k.Authenticate(h.c.SessionKey(r))
		if err != nil || !slices.Contains(h.c.MountedPaths(), r.URL.Path) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.c.Serve(who, w, r.WithContext(exchange.WithProof(r.Context(), h.proof)))
	}))
	t.Cleanup(h.s.Close)
	return h
}

// start starts the console, as after a restart.
func (h *harness) start() {
	h.Helper()
	cfg := console.Config{LocalExecutor: &h.daemon, SignInRate: 1000, Secure: h.tls, PushKey: "public", Data: "/var/lib/mess", LastBackup: func() time.Time { return h.backup }, Authority: h.authority}
	if h.setup != nil {
		cfg.Setup = h.setup
	}
	h.c = console.Open(h.x, h.k, cfg, slog.New(slog.DiscardHandler))
}

// browser is a browser of its own.
func (h *harness) browser() *http.Client {
	h.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// addressAs returns the address of the server under another name.
func (h *harness) addressAs(name string) string {
	return strings.Replace(h.s.URL, "127.0.0.1", name, 1)
}

func (h *harness) call(b *http.Client, method, path, body string, heads ...string) (int, string, http.Header) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.s.URL+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	r.Header.Set("Origin", h.s.URL)
	for i := 0; i < len(heads); i += 2 {
		if heads[i] == "Host" {
			for _, cookie := range b.Jar.Cookies(r.URL) { // the jar knows the address alone
				r.AddCookie(cookie)
			}
			r.Host = strings.TrimPrefix(heads[i+1], "http://")
		}
		r.Header.Set(heads[i], heads[i+1])
	}
	res, err := b.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(data), res.Header
}

func (h *harness) wantStatus(want int, b *http.Client, method, path, body string, heads ...string) string {
	h.Helper()
	code, text, _ := h.call(b, method, path, body, heads...)
	if code != want {
		h.Errorf("%s %s %s: %d %s, want %d", method, path, body, code, text, want)
	}
	return text
}

// signIn returns a browser with a session of a new key with these roles, and the key.
func (h *harness) signIn(actor string, roles exchange.Role) (b *http.Client, key string) {
	h.Helper()
	key, err := h.k.Issue(actor, roles)
	if err != nil {
		h.Fatal(err)
	}
	b = h.browser()
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/session", `{"key":"`+key+`"}`)
	return b, key
}

const operator = exchange.Operator | exchange.Observer | exchange.Requester

// linkToken is the token in an answer that has a link.
func (h *harness) linkToken(text string) string {
	h.Helper()
	var v struct {
		Path string
		Dots []string
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		h.Fatal(err)
	}
	_, token, _ := strings.Cut(v.Path, "#")
	return token
}
