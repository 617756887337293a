package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// fixture is an exchange with webhooks and their receivers.
type fixture struct {
	*testing.T
	x    *exchange.Exchange
	dir  string
	log  bytes.Buffer
	keys keyring

	hooks *webhook.Dispatcher
	stop  func()

	mu       sync.Mutex
	got      map[string][]received // by host
	receiver map[string]func(ctx context.Context, n int) (*http.Response, error)
}

type received struct {
	at   time.Time
	head http.Header
	body []byte
}

// keyring has a key for every actor except the revoked ones.
type keyring map[string]bool

func (k keyring) Shared(actor string) (exchange.Actor, []byte, bool) {
	return exchange.Actor{ID: actor, Roles: exchange.Requester | exchange.ExecutorRole}, []byte("shared by " + actor), !k[actor]
}

func open(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{T: t, dir: t.TempDir(), keys: keyring{}, got: map[string][]received{}, receiver: map[string]func(context.Context, int) (*http.Response, error){}}
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h.x = x
	h.start(webhook.Config{})
	return h
}

// start opens the webhooks and runs them until stop.
func (h *fixture) start(cfg webhook.Config) {
	h.Helper()
	var err error
	log := slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if h.hooks, err = webhook.Open(h.x, h.keys, cfg, h.dir, log); err != nil {
		h.Fatal(err)
	}
	webhook.Through(h.hooks, h)
	ctx, cancel := context.WithCancel(h.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := h.hooks.Run(ctx); err != nil {
			h.Error(err)
		}
	})
	h.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	synctest.Wait()
}

// RoundTrip is the way to the receivers.
func (h *fixture) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.got[r.URL.Host] = append(h.got[r.URL.Host], received{time.Now(), r.Header, body})
	n, answer := len(h.got[r.URL.Host]), h.receiver[r.URL.Host]
	h.mu.Unlock()
	if answer == nil {
		return code(200)
	}
	return answer(r.Context(), n)
}

// after returns a receiver that answers 200 after d.
func after(d time.Duration) func(context.Context, int) (*http.Response, error) {
	return func(ctx context.Context, _ int) (*http.Response, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(d):
			return code(200)
		}
	}
}

func code(n int) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Location", "http://elsewhere.example/")
	w.WriteHeader(n)
	return w.Result(), nil
}

func (h *fixture) all(host string) []received {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got[host])
}

func (h *fixture) post(by, text string) string {
	h.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.Fatal(err)
	}
	who, _, _ := h.keys.Shared(by)
	answer, err := h.x.Post(h.Context(), exchange.Inbound{Actor: who, Channel: "http", Message: m})
	if err != nil {
		h.Fatalf("%s: %v", text, err)
	}
	return answer.Items[0].(*mess.Ack).Ref
}

// join registers an executor with a webhook at a host.
func (h *fixture) join(id, capability, host, more string) {
	h.Helper()
	h.post(id, fmt.Sprintf(`{"config":{"executor":{"id":%q,"capabilities":[%q],"notifications":[{"type":"ntfy","topic":"x"},{"type":"webhook","url":"https://%s/hook?token=sesame"%s}]}}}`, id, capability, host, more))
}

func (h *fixture) settle(d time.Duration) { time.Sleep(d); synctest.Wait() }

func newStore() exchange.Store { return memory.New() }
