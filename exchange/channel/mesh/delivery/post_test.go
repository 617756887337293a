package delivery_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
)

// answers is a peer that gives one answer after the other, and records the times of the requests.
// 0 is no answer.
type answers struct {
	codes  []int
	after  string
	health int
	at     []time.Duration
	probes int
	began  time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		if a.probes++; a.health == 0 {
			return nil, errors.New("connection refused")
		}
		return answer(a.health, ""), nil
	}
	a.at = append(a.at, time.Since(a.began))
	code := a.codes[min(len(a.at), len(a.codes))-1]
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	return answer(code, a.after), nil
}

func answer(code int, after string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}, Body: io.NopCloser(strings.NewReader(""))}
}

func through(t *testing.T, a *answers, cfg delivery.Config) (*delivery.Post, *state.Store) {
	t.Helper()
	s, err := state.Open(t.TempDir(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a.began = time.Now()
	cfg.Client = func(delivery.Peer, time.Duration) *http.Client { return &http.Client{Transport: a} }
	return delivery.New([]delivery.Peer{{Name: "hub", URL: "http://192.0.2.1:1", Token: "sesame"}}, cfg, s, slog.New(slog.DiscardHandler)), s
}

func message() delivery.Message {
	return delivery.Message{ID: "msg_1", To: "hub", Path: "/hooks/arm_01", Body: []byte("{}"), Expires: time.Now().Add(5 * time.Minute)}
}

func TestAttemptsFollowAnswers(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		answers answers
		cfg     delivery.Config
		change  func(*delivery.Message)
		want    delivery.Outcome
		at      []time.Duration
		breaker string
	}{
		"taken":        {answers: answers{health: 200, codes: []int{202}}, want: delivery.Outcome{Status: "sent", Code: 202, Attempts: 1}, at: []time.Duration{0}},
		"not wanted":   {answers: answers{health: 404, codes: []int{404}}, want: delivery.Outcome{Status: "client_error_404", Code: 404, Attempts: 1, Err: "it answers 404"}, at: []time.Duration{0}},
		"at its limit": {answers: answers{health: 200, codes: []int{429}, after: "7"}, want: delivery.Outcome{Status: "client_error_429", Code: 429, Attempts: 1, Err: "it answers 429"}, at: []time.Duration{0}},
		"asked to wait": {
			answers: answers{health: 200, codes: []int{429, 202}, after: "7"}, cfg: delivery.Config{RetryAfter: true},
			want: delivery.Outcome{Status: "sent", Code: 202, Attempts: 2}, at: []time.Duration{0, 7 * s},
		},
		"busy, with a Retry-After": {
			answers: answers{health: 200, codes: []int{503, 202}, after: "9"}, cfg: delivery.Config{RetryAfter: true},
			want: delivery.Outcome{Status: "sent", Code: 202, Attempts: 2}, at: []time.Duration{0, 9 * s}, breaker: "closed",
		},
		"broken": {
			answers: answers{health: 501, codes: []int{500}}, want: delivery.Outcome{Status: "all_retries_exhausted", Code: 500, Attempts: 4, Err: "it answers 500"},
			at: []time.Duration{0, 5 * s, 20 * s, 80 * s}, breaker: "open",
		},
		"points elsewhere": {
			answers: answers{health: 200, codes: []int{302}}, change: func(m *delivery.Message) { m.Once = true },
			want: delivery.Outcome{Status: "all_retries_exhausted", Code: 302, Attempts: 1, Err: "it answers 302; the agent follows no redirects"}, at: []time.Duration{0}, breaker: "closed",
		},
		"points elsewhere once": {
			answers: answers{health: 200, codes: []int{302, 202}}, want: delivery.Outcome{Status: "sent", Code: 202, Attempts: 2}, at: []time.Duration{0, 5 * s}, breaker: "closed",
		},
		"back the third time":             {answers: answers{health: 200, codes: []int{0, 503, 200}}, want: delivery.Outcome{Status: "sent", Code: 200, Attempts: 3}, at: []time.Duration{0, 5 * s, 20 * s}, breaker: "closed"},
		"no health endpoint":              {answers: answers{codes: []int{200}}, want: delivery.Outcome{Status: "all_retries_exhausted", Attempts: 4, Err: "it does not answer health checks"}, breaker: "open"},
		"an alert without a health check": {answers: answers{codes: []int{200}}, change: func(m *delivery.Message) { m.Alert = true }, want: delivery.Outcome{Status: "sent", Code: 200, Attempts: 1}, at: []time.Duration{0}},
		"over before it is tried again": {
			answers: answers{health: 200, codes: []int{500}}, change: func(m *delivery.Message) { m.Expires = time.Now().Add(10 * s) },
			want: delivery.Outcome{Status: "expired", Code: 500, Attempts: 2, Err: "it answers 500"}, at: []time.Duration{0, 5 * s}, breaker: "closed",
		},
		"nobody": {answers: answers{}, change: func(m *delivery.Message) { m.To = "nobody" }, want: delivery.Outcome{Status: "all_retries_exhausted", Err: `there is no agent "nobody"`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, store := through(t, &c.answers, c.cfg)
				m := message()
				if c.change != nil {
					c.change(&m)
				}
				if diff := cmp.Diff(c.want, p.Send(t.Context(), m)); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(c.at, c.answers.at); diff != "" {
					t.Error(diff)
				}
				if got := store.Breakers()["hub"].State; got != c.breaker {
					t.Errorf("the breaker is %q, want %q", got, c.breaker)
				}
			})
		})
	}
}

// Three failures open the breaker for a minute. Then exactly one message probes the peer.
func TestBreakerOpensAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{health: 200, codes: []int{500}}
		p, store := through(t, a, delivery.Config{})
		m := message()
		m.Once = true
		for range 3 {
			p.Send(t.Context(), m)
		}
		if out := p.Send(t.Context(), m); out.Status != delivery.CircuitOpen || len(a.at) != 3 {
			t.Fatalf("%+v after %d attempts", out, len(a.at))
		}
		time.Sleep(61 * time.Second)
		if ok, probe := store.Enter("hub"); !ok || !probe || store.Breakers()["hub"].State != state.HalfOpen {
			t.Fatalf("no probe after a minute: %+v", store.Breakers())
		}
		if ok, _ := store.Enter("hub"); ok {
			t.Fatal("a second message tries")
		}
		store.Leave("hub")
		m.Once = false
		if out := p.Send(t.Context(), m); out.Status != delivery.Exhausted || out.Attempts != 1 || store.Breakers()["hub"].State != state.Opened {
			t.Fatalf("%+v %+v", out, store.Breakers())
		}
		time.Sleep(61 * time.Second)
		a.codes = []int{200}
		m.Expires = time.Now().Add(time.Minute)
		if out := p.Send(t.Context(), m); out.Status != delivery.Sent || store.Breakers()["hub"] != (state.Breaker{State: state.Closed}) {
			t.Fatalf("%+v %+v", out, store.Breakers())
		}
	})
}

// A health check of a peer counts for half a minute.
func TestHealthCheckIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{health: 200, codes: []int{200}}
		p, store := through(t, a, delivery.Config{})
		for range 3 {
			p.Send(t.Context(), message())
		}
		time.Sleep(31 * time.Second)
		p.Send(t.Context(), message())
		if h := store.Health()["hub"]; a.probes != 2 || !h.Reachable || h.HTTPCode != "200" || h.Port != 1 {
			t.Errorf("asked %d times: %+v", a.probes, h)
		}
	})
}

// The next run sends a message that was in progress when the program ended.
func TestInterruptedMessageIsResent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := through(t, &answers{health: 200, codes: []int{500}}, delivery.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if out := p.Send(ctx, message()); out.Status != delivery.Interrupted {
			t.Errorf("%+v", out)
		}
	})
}

func TestPeerAddresses(t *testing.T) {
	p := delivery.Peer{Name: "hub", URL: "http://192.168.1.10:18789", Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for address, want := range map[string][2]bool{
		"http://192.168.1.10:18789/hooks/x": {true, true}, "http://192.168.1.10:8890/f": {false, true}, "https://192.168.1.10:18789/": {false, true},
		"http://10.1.2.3/f": {false, true}, "http://169.254.169.254/": {false, false}, "http://hub@192.168.1.10:18789/": {false, false},
		"http://192.168.1.10:18789@evil.example/": {false, false}, "ftp://192.168.1.10/": {false, false}, "": {false, false}, "http://192.168.1.100/": {false, false},
	} {
		if got := [2]bool{p.Owns(address), p.Near(address)}; got != want {
			t.Errorf("%q: owns, near = %v, want %v", address, got, want)
		}
	}
	if (delivery.Peer{URL: "https://hub.example"}).Owns("https://HUB.example:443/hooks/a") != true {
		t.Error("the usual port is not known")
	}
}

// The pin of a self-signed certificate rejects every other certificate.
func TestPinRejectsOtherCertificates(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	sum, whole := sha256.Sum256(s.Certificate().RawSubjectPublicKeyInfo), sha256.Sum256(s.Certificate().Raw)
	good := "sha256:" + hex.EncodeToString(sum[:])
	for pin, want := range map[string]bool{good: true, "sha256:" + hex.EncodeToString(whole[:]): true, strings.ToUpper(good): true, "sha256:" + strings.Repeat("0", 64): false, "": false} {
		res, err := delivery.Peer{Name: "hub", URL: s.URL, Pin: pin}.Client(time.Minute).Get(s.URL)
		if got := err == nil; got != want {
			t.Errorf("pin %q: %v", pin, err)
		}
		if err == nil {
			_ = res.Body.Close()
		}
	}
	if _, err := (delivery.Peer{Name: "hub", URL: "http://192.0.2.1"}).Client(time.Minute).Get(s.URL); err == nil || !strings.Contains(err.Error(), "is not the address of hub") {
		t.Errorf("another address: %v", err)
	}
	if delivery.CheckPin(good) != nil || delivery.CheckPin("sha256:12") == nil {
		t.Error("CheckPin")
	}
}
