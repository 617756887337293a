package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/mess"
)

// nextEvent reads one event of a stream, without comments.
func nextEvent(t testing.TB, r *bufio.Reader) (id, name, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "event: "):
			name = line[7:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && name != "":
			return id, name, data
		}
	}
}

func (h *harness) stream(path, key string, headers ...string) *bufio.Reader {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), "GET", h.url+path, nil)
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := h.line.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { res.Body.Close() })
	return bufio.NewReader(res.Body)
}

func TestEvents(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	s := h.stream(root+"/events?after=now", agent)
	first, name, _ := nextEvent(t, s)
	if name != "reset" {
		t.Fatalf("an unknown place to resume gives %s", name)
	}
	work := h.stream(root+"/events?as=executor", phone)
	ref := h.create(agent, `{"intent":"look","requires":["x"]}`)
	if _, name, data := nextEvent(t, work); name != "message" || !strings.Contains(data, `"request"`) || !strings.Contains(data, ref) {
		t.Errorf("offer: %s %s", name, data)
	}
	_, name, data := nextEvent(t, s)
	if name != "message" || !strings.Contains(data, `"thread":{"ref":"`+ref) || !strings.Contains(data, `"kind":"message"`) {
		t.Errorf("request: %s %s", name, data)
	}
	h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed"}`)
	if _, _, data := nextEvent(t, s); !strings.Contains(data, `"code":"claimed"`) {
		t.Errorf("claim: %s", data)
	}
	// A client that reconnects gets the missed events, and no event twice.
	again := h.stream(root+"/events", agent, "Last-Event-ID", first)
	if _, _, data := nextEvent(t, again); !strings.Contains(data, `"request"`) {
		t.Errorf("missed: %s", data)
	}
	if _, _, data := nextEvent(t, again); !strings.Contains(data, `"claimed"`) {
		t.Errorf("missed: %s", data)
	}

	r := h.do("GET", root+"/events?wait=10s&after="+first, agent, "")
	if r.code != 200 || strings.Count(r.body, `"event":"message"`) != 2 {
		t.Errorf("poll: %d %s", r.code, r.body)
	}
	last := r.field("last")
	r = h.do("GET", root+"/events?wait=0s&after="+last, agent, "")
	h.want(r, 200, fmt.Sprintf(`{"events":[],"last":%q}`, last))
}

// A client that was away for too long gets a reset without data.
func TestResetHasNoData(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"x"`)
	ref := h.create(phone, `{"intent":"look","requires":["x"]}`)
	for _, as := range []string{"", "?as=executor"} {
		s := h.stream(root+"/events"+as, phone, "Last-Event-ID", "gone-7")
		if id, name, data := nextEvent(t, s); name != "reset" || data != "{}" || id != "" {
			t.Errorf("%q: %s %s %s", as, id, name, data)
		}
		if id, _, data := nextEvent(t, s); !strings.Contains(data, ref) || id == "" { // the open threads follow
			t.Errorf("%q: %s", as, data)
		}
	}
}

// An executor gets a message alone, on one line.
func TestExecutorStreamHasMessages(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	ref := h.create(agent, `{"intent":"line one\nline two","requires":["x"]}`)
	s := h.stream(root+"/events?as=executor", phone)
	_, _, data := nextEvent(t, s)
	m, err := mess.Parse([]byte(data))
	if err != nil || m.From != "agent" || len(m.Re) != 1 || m.Re[0] != ref || len(m.Items) != 1 {
		t.Fatalf("%s: %v", data, err)
	}
	if r, ok := m.Items[0].(*mess.Request); !ok || r.Intent != "line one\nline two" {
		t.Errorf("%s", data)
	}
	h.want(h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed"}`), 200, "")
	h.want(h.do("PATCH", root+"/requests/"+ref, agent, `{"status":"cancelled","message":"never mind"}`), 200, "")
	if _, name, data := nextEvent(t, s); name != "message" || !strings.Contains(data, `"cancel"`) {
		t.Errorf("its own claim, or nothing: %s %s", name, data)
	}
}

// pollCollector is the answer to a poll.
type pollCollector struct {
	Events []struct {
		ID, Event string
		Data      struct {
			Kind   string
			Thread struct{ Ref string }
		}
	}
	Last string
}

func (h *harness) poll(key, query string) pollCollector {
	h.Helper()
	var p pollCollector
	r := h.do("GET", root+"/events?"+query, key, "")
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.code != 200 {
		h.Fatalf("%d %s: %v", r.code, r.body, err)
	}
	return p
}

// Polls return all events, also those from before the first event.
func TestPollReturnsEvents(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	first := h.poll(agent, "wait=0s")
	if len(first.Events) != 0 || first.Last == "" {
		t.Fatalf("%+v", first)
	}
	for range 130 {
		h.create(agent, `{"intent":"look"}`)
	}
	refs := map[string]bool{}
	q := first
	for len(refs) < 130 { // two polls, or more on a busy computer
		q = h.poll(agent, "wait=20s&after="+q.Last)
		if n := len(q.Events); n == 0 || n > 100 || q.Events[n-1].ID != q.Last {
			t.Fatalf("a poll after %d events returned %d, want 1 to 100 with the id of the last one (%s)", len(refs), n, q.Last)
		}
		for _, e := range q.Events {
			if e.Event != "message" || e.Data.Kind != "message" || refs[e.Data.Thread.Ref] {
				t.Errorf("a poll returned %+v, want one message for each thread", e)
			}
			refs[e.Data.Thread.Ref] = true
		}
	}
	got := make(chan pollCollector, 1)
	go func() {
		defer close(got) // also if it fails
		got <- h.poll(agent, "wait=50s&after="+q.Last)
	}()
	ref := h.create(agent, `{"intent":"look"}`)
	if p := <-got; len(p.Events) != 1 || p.Events[0].Data.Thread.Ref != ref {
		t.Errorf("%+v", p)
	}
	if p := h.poll(agent, "wait=0s&after=gone-7"); len(p.Events) != 1 || p.Events[0].Event != "reset" || p.Last == "gone-7" {
		t.Errorf("%+v", p)
	}
}

// The first poll of an executor returns all open threads in one response, because no position
// lies between them.
func TestFirstPollReturnsAllOpenThreads(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	for range 110 {
		h.create(agent, `{"intent":"look","requires":["x"]}`)
	}
	p := h.poll(phone, "as=executor&wait=0s")
	if len(p.Events) != 110 {
		t.Errorf("%d offers", len(p.Events))
	}
	if q := h.poll(phone, "as=executor&wait=0s&after="+p.Last); len(q.Events) != 0 || q.Last != p.Last {
		t.Errorf("%+v", q)
	}
}

// responseRecorder is a client that only listens and keeps the written bytes.
type responseRecorder struct {
	mu   sync.Mutex
	head http.Header
	text strings.Builder
}

func (l *responseRecorder) Header() http.Header { return l.head }
func (l *responseRecorder) WriteHeader(int)     {}
func (l *responseRecorder) Flush()              {}

func (l *responseRecorder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *responseRecorder) read() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A stream shows that it lives, at once and every 15 s.
func TestStreamHasHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, httpapi.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, "GET", root+"/events", nil)
		req.Header.Set("Authorization", "Bearer "+h.op)
		l := &responseRecorder{head: http.Header{}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.server.Handler().ServeHTTP(l, req)
		}()
		synctest.Wait()
		if got := l.read(); got != ": hello\n\n" || !strings.HasPrefix(l.head.Get("Content-Type"), "text/event-stream") {
			t.Errorf("at once: %q %v", got, l.head)
		}
		time.Sleep(46 * time.Second) // fake time
		synctest.Wait()
		if got := l.read(); got != ": hello\n\n"+strings.Repeat(": beat\n\n", 3) {
			t.Errorf("after 46 s: %q", got)
		}
		cancel()
		<-done
	})
}
