package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
)

// harness is a fixture: a real exchange with a real server on this machine.
type harness struct {
	dir string // of the keys
	testing.TB
	server *httpapi.Server
	x      *exchange.Exchange
	keys   *keys.Keys
	url    string
	line   http.RoundTripper // to the server
	op     string            // the operator's key
}

func startHarness(t testing.TB, cfg httpapi.Config) *harness {
	t.Helper()
	return newHarness(t, cfg).serve()
}

// serve starts the server on this machine.
func (h *harness) serve() *harness {
	s := httptest.NewServer(h.server.Handler())
	h.Cleanup(s.Close)
	h.url = s.URL
	return h
}

// newHarness returns a fixture whose server does not run yet.
func newHarness(t testing.TB, cfg httpapi.Config) *harness {
	t.Helper()
	return newHarnessOver(t, cfg, exchange.DefaultConfig(), memory.New())
}

func newHarnessOver(t testing.TB, cfg httpapi.Config, ec exchange.Config, store exchange.Store) *harness {
	t.Helper()
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	k, err := keys.Open(dir, ec.ID)
	if err != nil {
		t.Fatal(err)
	}
	ec.Catalog = []exchange.Definition{{ID: "take-photo", Description: "Take a photo", Tags: []string{"visual"}}}
	ec.Granted = k.Granted
	x, err := exchange.Open(t.Context(), ec, store, time.Now, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	cfg.Version = "1.2.3"
	key, err := os.ReadFile(filepath.Join(dir, "operator.key"))
	if err != nil {
		t.Fatal(err)
	}
	return &harness{TB: t, server: httpapi.New(x, k, cfg, log), x: x, keys: k, line: http.DefaultTransport, dir: dir, op: strings.TrimSpace(string(key))}
}

const root = "/api/v1/exchanges/home"

// reply is an answer, with times and refs that differ from run to run made
// plain.
type reply struct {
	code int
	body string
	head http.Header
}

func (h *harness) do(method, path, key, body string, headers ...string) reply {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := h.line.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return reply{res.StatusCode, strings.TrimSpace(string(data)), res.Header}
}

var (
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[-+]\d\d:\d\d)`)
	anyRef  = regexp.MustCompile(`\d{4}-\d\d-\d\d-(\d{3})`)
	anyKey  = regexp.MustCompile(`[0-9a-f]{32}`)
)

func (r reply) plain() string {
	s := anyTime.ReplaceAllString(r.body, "TIME")
	return anyKey.ReplaceAllString(anyRef.ReplaceAllString(s, "DAY-$1"), "KEY")
}

func (h *harness) want(r reply, code int, body string) {
	h.Helper()
	if r.code != code || body != "" && !sameJSON(body, r.plain()) {
		h.Errorf("got %d %s\nwant %d %s", r.code, r.plain(), code, body)
	}
}

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return cmp.Equal(x, y)
}

func (r reply) field(name string) string {
	var v map[string]any
	if json.Unmarshal([]byte(r.body), &v) != nil {
		return ""
	}
	return fmt.Sprint(v[name])
}

// register gives an executor its key.
func (h *harness) register(id, capabilities string) string {
	h.Helper()
	r := h.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":%q,"display_name":"My Phone","capabilities":[%s],"preferences":{"min_priority":"normal"}}`, id, capabilities))
	if r.code != http.StatusCreated {
		h.Fatalf("register %s: %d %s", id, r.code, r.body)
	}
	return r.field("api_key")
}

func (h *harness) create(key, body string) string {
	h.Helper()
	r := h.do("POST", root+"/requests", key, body)
	if r.code != http.StatusCreated {
		h.Fatalf("create: %d %s", r.code, r.body)
	}
	return r.field("ref")
}
