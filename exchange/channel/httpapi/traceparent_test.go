package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
)

// Two trace contexts in the form of the specification.
const (
	trace      = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	otherTrace = "00-11111111111111111111111111111111-2222222222222222-00"
)

// The trace context of a request stays with its thread. Executors get it in the fields of their
// messages, and followers in the events.
func TestTraceContextFollowsThread(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	follower, executor := h.stream(root+"/events?after=now", agent), h.stream(root+"/events?as=executor", phone)
	nextEvent(t, follower)
	ref := h.createTraced(agent, `{"intent":"look","requires":["x"]}`, "traceparent", trace)
	wanted := `"traceparent":"` + trace + `"`
	if _, _, data := nextEvent(t, follower); !strings.Contains(data, wanted) {
		t.Errorf("the event of a new thread is %s", data)
	}
	if _, _, data := nextEvent(t, executor); strings.Count(data, wanted) != 1 {
		t.Errorf("the offer is %s", data)
	}
	if r := h.do("GET", root+"/requests/"+ref, agent, ""); !strings.Contains(r.body, wanted) {
		t.Errorf("the thread is %s", r.body)
	}
	h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed"}`)
	if _, _, data := nextEvent(t, follower); !strings.Contains(data, wanted) {
		t.Errorf("the event of a claim is %s", data)
	}
	h.do("PATCH", root+"/requests/"+ref, agent, `{"status":"cancelled"}`, "traceparent", otherTrace)
	if _, _, data := nextEvent(t, executor); !strings.Contains(data, `"traceparent":"`+otherTrace+`"`) || strings.Contains(data, wanted) {
		t.Errorf("a message in another trace is %s", data)
	}
}

// createTraced makes a request with headers.
func (h *harness) createTraced(key, body string, headers ...string) string {
	h.Helper()
	r := h.do("POST", root+"/requests", key, body, headers...)
	if r.code != 201 {
		h.Fatalf("create: %d %s", r.code, r.body)
	}
	return r.field("ref")
}

// A message goes before the header, and an invalid context is no error and stays away.
func TestWhichTraceContextCounts(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	for name, c := range map[string]struct{ header, field, want string }{
		"header":              {header: trace, want: trace},
		"field":               {field: otherTrace, want: otherTrace},
		"both":                {header: trace, field: otherTrace, want: otherTrace},
		"invalid header":      {header: "00-x"},
		"invalid field":       {header: trace, field: "nonsense", want: trace},
		"none":                {},
		"no trace, but zeros": {header: "00-00000000000000000000000000000000-00f067aa0ba902b7-01"},
	} {
		body, headers := `{"MESS":[{"request":{"intent":"look"}}]}`, []string(nil)
		if c.field != "" {
			body = `{"traceparent":"` + c.field + `",` + body[1:]
		}
		if c.header != "" {
			headers = []string{"traceparent", c.header}
		}
		r := h.do("POST", root+"/mess", agent, body, headers...)
		if r.code != 200 {
			t.Errorf("%s: %d %s", name, r.code, r.body)
			continue
		}
		list, err := h.x.List(t.Context(), exchange.Actor{ID: "agent", Roles: exchange.Requester}, exchange.Filter{Limit: 1})
		if err != nil || len(list.Threads) != 1 || list.Threads[0].Trace != c.want {
			t.Errorf("%s: %v, %+v, want %q", name, err, list.Threads, c.want)
		}
	}
}

// brokenStore fails its appends on demand.
type brokenStore struct {
	exchange.Store
	broken atomic.Bool
}

func (s *brokenStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if s.broken.Load() {
		return "", errors.New("the disk is broken")
	}
	return s.Store.Append(ctx, step)
}

// The log of the exchange names the thread and the request of a step, with the id that the response
// has.
func TestLogHasThreadAndRequest(t *testing.T) {
	log, store := &logBuffer{}, &brokenStore{Store: memory.New()}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := newHarness(t, httpapi.Config{})
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), store, time.Now, logger)
	if err != nil {
		t.Fatal(err)
	}
	h.server = httpapi.New(x, h.keys, httpapi.Config{}, logger)
	s := httptest.NewServer(h.server.Handler())
	t.Cleanup(s.Close)
	h.url = s.URL
	agent := h.register("agent", "")
	good := h.do("POST", root+"/requests", agent, `{"intent":"look"}`, "traceparent", trace)
	store.broken.Store(true)
	bad := h.do("PATCH", root+"/requests/"+good.field("ref"), agent, `{"status":"cancelled"}`)
	if good.code != 201 || bad.code != 503 {
		t.Fatalf("%d, %d %s", good.code, bad.code, bad.body)
	}
	for text, r := range map[string]reply{
		`msg="step stored" ref=` + good.field("ref") + " request=": good, `msg="store failed" ref=` + good.field("ref") + " request=": bad,
		`msg="HTTP request" request=`: good,
	} {
		if !strings.Contains(log.String(), text+r.head.Get("X-Request-Id")) {
			t.Errorf("no line has %s%s:\n%s", text, r.head.Get("X-Request-Id"), log)
		}
	}
	if !strings.Contains(log.String(), "traceparent="+trace) {
		t.Errorf("no line has the trace:\n%s", log)
	}
}
