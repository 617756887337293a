package mesh_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/test/scenario"
)

// far is a peer without a network in fake time.
type far struct {
	mu    sync.Mutex
	began time.Time
	down  bool
	came  []string // times and messages
	log   []string // warnings of the agent
}

func (f *far) since() time.Duration { return time.Since(f.began).Round(time.Second) }

func (f *far) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, errors.New("connection refused")
	}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		h, err := wire.ParseHook(body)
		if err != nil {
			return nil, err
		}
		e, err := wire.Parse(h.Message)
		if err != nil {
			return nil, err
		}
		what, _, _ := strings.Cut(string(e.Type)+" "+e.Payload.Subject, "\n")
		if e.Type == wire.Ack || e.Type == wire.Response {
			what = fmt.Sprint(e.Type, " ", e.Payload.Metadata.Get("status"))
		}
		f.came = append(f.came, fmt.Sprint(f.since(), " ", what))
	}
	return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func (f *far) Enabled(context.Context, slog.Level) bool { return true }
func (f *far) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f *far) WithGroup(string) slog.Handler            { return f }
func (f *far) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprint(f.since(), " ", r.Message))
	return nil
}

func (f *far) all() (came, log []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.came), slices.Clone(f.log)
}

// inTime runs a test in fake time, with a fixture and a simulated hub.
func inTime(t *testing.T, test func(h *fixture, hub *far)) { inTimeWith(t, nil, test) }

func inTimeWith(t *testing.T, capabilitiesOfHub []string, test func(h *fixture, hub *far)) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{began: time.Now()}
		x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		h := &fixture{Executor: scenario.NewExecutor(t, x), x: x, dir: t.TempDir(), cfg: peers.DefaultConfig()}
		h.React = h.react
		h.cfg.On, h.cfg.Token, h.cfg.Notify = true, tokenHere, []string{"hub"}
		h.cfg.Peers = map[string]peers.Peer{"hub": {URL: "http://192.0.2.1:18789", Token: tokenHub, Capabilities: capabilitiesOfHub}}
		if err := h.cfg.Load("arm_01", func(s string) string { return s }); err != nil {
			t.Fatal(err)
		}
		h.adapter, err = mesh.Open(t.Context(), x, h.cfg, mesh.Options{
			Dir: h.dir, Base: "http://192.0.2.2:8420", Version: "test", YesNo: catalog.MatchYesNo,
			Through: func(delivery.Peer, time.Duration) *http.Client { return &http.Client{Transport: f} },
		}, slog.New(f))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer h.running.Wait()
		defer cancel()
		h.running.Go(func() { _ = x.Run(ctx) })
		h.Register()
		h.running.Go(func() { h.Run(ctx) })
		h.running.Go(func() { _ = h.adapter.Run(ctx) })
		synctest.Wait()
		test(h, f)
	})
}

// hooked posts a message as the hub that the agent must accept, and returns the answer.
func (h *fixture) hooked(e wire.Envelope) map[string]any {
	h.Helper()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/hooks/"+e.From, bytes.NewReader(wire.Hook{Message: e.Text()}.Text()))
	r.Header.Set("Authorization", "Bearer "+tokenHere)
	w := httptest.NewRecorder()
	h.adapter.ServeHTTP(w, r)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != http.StatusAccepted {
		h.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	return v
}

// ordered makes a call of the API that must succeed.
func (h *fixture) ordered(o mesh.Order) (rep mesh.Report) {
	h.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		h.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.adapter.Serve(exchange.Actor{ID: "operator", Roles: exchange.Operator}, w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, mesh.ControlPath, bytes.NewReader(body)))
	if err := json.Unmarshal(w.Body.Bytes(), &rep); err != nil || w.Code != http.StatusOK {
		h.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	return rep
}

// later lets time pass.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A task of more than five seconds gets an ack, and then one at most every half minute. A started
// task continues after the ttl of its request.
func TestAcksFollowInterval(t *testing.T) {
	inTime(t, func(h *fixture, hub *far) {
		e := envelope(wire.Request, "msg_1", "forever")
		e.TTL = time.Minute
		h.hooked(e)
		later(time.Second)
		page, err := h.x.List(t.Context(), watcher, exchange.Filter{})
		if err != nil || len(page.Threads) != 1 {
			t.Fatal(page, err)
		}
		ref := page.Threads[0].Ref
		for _, pct := range []int{20, 30, 40} {
			later(6 * time.Second) // at 7, 13 and 19 s
			h.SendTo(ref, fmt.Sprintf(`[{status: {code: in_progress, progress_pct: %d}}]`, pct))
		}
		later(5 * time.Minute)
		h.SendTo(ref, `[{status: {code: completed}}, {response: {content: ["at last"]}}]`)
		later(time.Second)
		came, _ := hub.all()
		same(t, "told", came, []string{"5s ack in_progress", "35s ack in_progress", "5m19s response completed"})
	})
}

// The agent logs a request without an ack after half a minute. The request fails when it expires.
func TestMissingAckIsLogged(t *testing.T) {
	inTime(t, func(h *fixture, hub *far) {
		id := h.ordered(mesh.Order{Do: "send", Send: &mesh.Sending{To: "hub", Type: wire.Request, Body: "how many?"}}).Taken[0].ID
		later(304 * time.Second)
		_, log := hub.all()
		same(t, "warned", log, []string{"30s mesh: no ack within 30 s"})
		later(2 * time.Second)
		if a := h.ordered(mesh.Order{Do: "await", ID: id}).Asked; a.Failed != "no answer in time" {
			t.Errorf("%+v", a)
		}
	})
}

// A message that no peer accepts is a dead letter after four attempts. One probe a minute sends it
// again until delivery or expiry.
func TestUndeliveredMessageIsProbed(t *testing.T) {
	inTime(t, func(h *fixture, hub *far) {
		hub.down = true
		send := func(body string, ttl int64) {
			h.ordered(mesh.Order{Do: "send", Send: &mesh.Sending{To: "hub", Type: wire.Notification, Body: body, TTL: ttl}})
		}
		send("short", 100)
		send("long", 3600)
		later(85 * time.Second)
		if l := h.ordered(mesh.Order{Do: "letters"}).DeadLetters; len(l) != 2 || l[0].Attempts != 4 || l[0].FailReason != "all_retries_exhausted" {
			t.Fatalf("%+v", l)
		}
		send("meanwhile", 3600) // the open breaker blocks it
		later(time.Second)
		if l := h.ordered(mesh.Order{Do: "letters"}).DeadLetters; len(l) != 3 || l[2].Attempts != 0 || l[2].FailReason != "circuit_open" {
			t.Fatalf("%+v", l)
		}
		later(10 * time.Minute)
		if l := h.ordered(mesh.Order{Do: "letters"}).DeadLetters; len(l) != 2 || l[0].Attempts < 8 || l[0].Attempts > 14 || l[1].Attempts != 0 {
			t.Errorf("%+v", l) // one of them probes, the oldest first, and the short one has expired
		}
		hub.mu.Lock()
		hub.down = false
		hub.mu.Unlock()
		later(3 * time.Minute)
		came, _ := hub.all()
		if len(came) != 2 || !strings.HasSuffix(came[0], "notification long") || !strings.HasSuffix(came[1], "notification meanwhile") {
			t.Errorf("%q", came)
		}
		purged := 0
		for _, l := range h.ordered(mesh.Order{Do: "audit", Lines: 1000}).Audit {
			if l.Status == "purged_expired" && l.Subject == "short" {
				purged++
			}
		}
		if s := h.ordered(mesh.Order{Do: "status"}).Status; purged != 1 || s.DeadLetters != 0 || s.Peers[0].Breaker != "closed" {
			t.Errorf("%d purged, %+v", purged, s)
		}
	})
}

// The operator gets a notification of an incident at once, after an hour, then every two hours, and
// at its end.
func TestIncidentSummariesFollowIntervals(t *testing.T) {
	inTime(t, func(h *fixture, hub *far) {
		alert := func(id, status string) {
			e := envelope(wire.Alert, id, "no answer")
			e.Payload.Metadata = wire.Object{}.With("host", "worker-1").With("check", "ping").With("status", status)
			h.hooked(e)
		}
		alert("a1", "")
		later(6 * time.Hour)
		alert("a2", "up")
		later(time.Minute)
		var notified []string
		came, _ := hub.all()
		for _, one := range came {
			at, what, _ := strings.Cut(one, " notification ")
			d, err := time.ParseDuration(at)
			if err != nil {
				t.Fatal(err)
			}
			notified = append(notified, fmt.Sprint(d.Truncate(2*time.Minute), " ", what))
		}
		same(t, "told", notified, []string{
			"0s [new] worker-1/ping", "1h0m0s [summary] worker-1/ping", "3h0m0s [summary] worker-1/ping", "5h0m0s [summary] worker-1/ping", "6h0m0s [recovery] worker-1/ping",
		})
	})
}
