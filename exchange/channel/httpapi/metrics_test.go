package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/internal/test/promtool"
)

// samples returns the values of the metrics, by name and labels.
func (h *harness) samples() map[string]string {
	h.Helper()
	r := h.do("GET", "/metrics", h.op, "")
	if r.code != http.StatusOK || r.head.Get("Content-Type") != metrics.ContentType {
		h.Fatalf("metrics: %d %s %s", r.code, r.head.Get("Content-Type"), r.body)
	}
	all := map[string]string{}
	for line := range strings.Lines(r.body) {
		if !strings.HasPrefix(line, "#") {
			at := strings.LastIndex(strings.TrimSpace(line), " ")
			all[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return all
}

func requests(route, method, class string) string {
	return fmt.Sprintf(`messkit_http_request_duration_seconds_count{method=%q,route=%q,code=%q}`, method, route, class)
}

// The server measures requests by route. A client cannot add series by the paths and methods that it
// chooses.
func TestMetricsOfRequests(t *testing.T) {
	h := startHarness(t, httpapi.Config{Pages: map[string]http.Handler{"/page.js": http.NotFoundHandler()}, Metrics: func(t *metrics.Text) { t.Gauge("own_things", "Own.", 3) }})
	agent := h.register("agent", "")
	for i := range 20 {
		h.do("GET", fmt.Sprintf("%s/requests/2026-01-01-%03d", root, i), agent, "")
		h.do("GET", fmt.Sprintf("/none/%d", i), agent, "")
		h.do(fmt.Sprintf("M%d", i), "/health", "", "")
	}
	h.do("GET", "/page.js", "", "")
	h.do("HEAD", "/health", "", "")
	s := h.stream(root+"/events?after=now", agent)
	nextEvent(t, s)
	got := h.samples()
	for name, want := range map[string]string{
		requests("requests/{ref}", "GET", "4xx"): "20", requests("other", "GET", "4xx"): "20", requests("other", "other", "4xx"): "20",
		requests("page", "GET", "4xx"): "1", requests("/health", "HEAD", "2xx"): "1", requests("events", "GET", "2xx"): "",
		requests(`/api/v1/exchanges/{exchange}/register`, "POST", "2xx"): "1",
		"messkit_http_event_streams":                                     "1", "messkit_http_event_streams_opened_total": "1", "messkit_event_subscribers": "1",
		"own_things": "3", "messkit_requests_created_total": "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if len(got) > 300 {
		t.Errorf("%d samples, want at most 300", len(got))
	}
	promtool.Metrics(t, []byte(h.do("GET", "/metrics", h.op, "").body+"\n"))
}

// Observers, operators and local processes of the same user read the metrics, and nobody else. They
// contain no names.
func TestWhoReadsMetrics(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("secret-agent", `"x"`)
	ref := h.create(agent, `{"id":"secret-id","intent":"a secret"}`)
	keys := map[string]string{"": "", "operator": h.op, "wrong": "no-key", "executor": agent}
	for actor, roles := range map[string]exchange.Role{"observer": exchange.Observer, "resident": exchange.Resident, "requester": exchange.Requester} {
		key, err := h.keys.Issue(actor, roles)
		if err != nil {
			t.Fatal(err)
		}
		keys[actor] = key
	}
	for actor, want := range map[string]int{"": 401, "operator": 200, "observer": 200, "wrong": 401, "resident": 403, "requester": 403, "executor": 403} {
		for _, headers := range [][]string{away, {"X-Forwarded-For", "192.0.2.1"}} {
			if r := h.do("GET", "/metrics", keys[actor], "", headers...); r.code != want {
				t.Errorf("%s with %v: %d, want %d", actor, headers, r.code, want)
			}
		}
	}
	r := h.do("GET", "/metrics", "", "")
	if r.code != 200 {
		t.Errorf("a local process of the same user: %d", r.code)
	}
	for _, secret := range []string{"secret", ref, h.op, agent} {
		if strings.Contains(r.body, secret) {
			t.Errorf("the metrics contain %q", secret)
		}
	}
}

// A probe gets the reasons in plain words without a key.
func TestProbes(t *testing.T) {
	var why []string
	h := startHarness(t, httpapi.Config{Unready: func(context.Context) []string { return why }})
	h.register("agent", "")
	if r := h.do("GET", "/healthz", "", ""); r.code != 200 || r.body != "ok" {
		t.Errorf("healthz: %d %s", r.code, r.body)
	}
	if r := h.do("GET", "/readyz", "", ""); r.code != 200 || r.body != "ok" {
		t.Errorf("readyz: %d %s", r.code, r.body)
	}
	why = []string{"the store cannot write", "the index is old"}
	if r := h.do("GET", "/readyz", "", ""); r.code != 503 || r.body != "the store cannot write\nthe index is old" || r.head.Get("Retry-After") == "" {
		t.Errorf("readyz: %d %s", r.code, r.body)
	}
	if r := h.do("GET", "/healthz", "", ""); r.code != 200 {
		t.Errorf("healthz while the store does not write: %d", r.code)
	}
}
