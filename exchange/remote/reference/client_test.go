package reference_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/mess"
)

// follow runs Receive of an executor until a call of the returned function.
func (b *executor) follow() (*inbox, func()) {
	m := &inbox{}
	ctx, cancel := context.WithCancel(b.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.Receive(ctx, m.handle); err != nil {
			b.t.Error(err)
		}
	})
	return m, func() { cancel(); wg.Wait() }
}

// A whole task: the offer, a question and its answer, the start, an image and the terminal
// status, each in the server's spelling.
func TestTaskAtReferenceServer(t *testing.T) {
	want := map[string][3]string{"express": {"needs_input", "in_progress", "completed"}, "php": {"needs-input", "in-progress", "completed"}}
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			b := p.newExecutor("pi", "run1", reference.Config{})
			b.register()
			ref := p.request(map[string]any{"intent": "look into the fridge", "requires": []string{"look"}, "confirm_before": true, "response_hint": []string{"image"}, "priority": "elevated"})
			m, stop := b.follow()
			defer stop()
			time.Sleep(5 * time.Second)
			if len(m.all()) != 1 || m.offers()[0] != ref || m.all()[0].From != "agent" {
				t.Fatalf("offers: %+v", m.all())
			}
			r := m.all()[0].Items[0].(*mess.Request)
			if r.Intent != "look into the fridge" || r.Requires != nil || r.ConfirmBefore != nil || r.Priority != mess.Elevated || r.ResponseHint[0].Type != "image" {
				t.Errorf("the request: %+v", r)
			}
			epoch, err := b.claim(ref)
			if err != nil || epoch == 0 {
				t.Fatalf("claim: %d, %v", epoch, err)
			}
			if _, err := b.send(ref, epoch, &mess.Status{Code: mess.NeedsInput, Questions: []mess.Question{{Field: "shelf", Question: "Which?"}}}); err != nil {
				t.Fatal(err)
			}
			if s := p.thread(ref).Status; s != want[name][0] {
				t.Errorf("asks: %s", s)
			}
			p.post("agent", ref, map[string]any{"answer": map[string]any{"re": "last", "value": "the upper one"}})
			time.Sleep(5 * time.Second)
			if k := m.kinds(); len(k) != 2 || k[1] != mess.KindAnswer || m.all()[1].Epoch != epoch {
				t.Fatalf("messages are %v, want the answer", k)
			}
			if err := b.start(ref, epoch); err != nil {
				t.Fatal(err)
			}
			if s := p.thread(ref); s.Status != want[name][1] || s.Executor != "pi" {
				t.Errorf("works: %+v", s)
			}
			if err := b.start(ref, epoch); err != nil { // the same holder may ask again
				t.Error(err)
			}
			media, err := b.Attach(t.Context(), ref, "fridge.jpg", "image/jpeg", strings.NewReader("not a real picture"))
			if err != nil || !strings.HasPrefix(media.URI, "data:image/jpeg;base64,") || media.File != "" {
				t.Fatalf("%+v, %v", media, err)
			}
			done := []mess.Item{
				&mess.Status{Code: mess.Completed, Evidence: mess.Photographed},
				&mess.Response{Content: []mess.Entry{mess.TextEntry("milk"), {Type: "image", Value: media.URI}}},
			}
			for range 2 { // the same report again changes nothing
				if _, err := b.send(ref, epoch, done...); err != nil {
					t.Fatal(err)
				}
			}
			end := p.thread(ref)
			if statuses := end.texts("pi"); end.Status != want[name][2] || strings.Join(statuses, " ") != "claimed needs_input in_progress completed" {
				t.Errorf("%s: %v", end.Status, statuses)
			}
			last := end.items(len(end.Messages) - 1)
			if c := last[1]["response"].(map[string]any)["content"].([]any); c[0] != "milk" || c[1].(map[string]any)["image"] != media.URI {
				t.Errorf("the response: %v", last)
			}
		})
	})
}

// Two executors claim concurrently, and the server accepts both claims. At most one starts, and
// neither believes wrongly that it holds the thread.
func TestNonExclusiveClaimsStartOnce(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		both, begun := 0, 0
		for range 150 {
			synctest.Test(t, func(t *testing.T) {
				p := newReferenceServer(t, name)
				p.SetLag(lag(300 * time.Millisecond)) // shorter than the two reads of a claim
				a, b := p.newExecutor("a", "run-a", reference.Config{}), p.newExecutor("b", "run-b", reference.Config{})
				ref := p.request(map[string]any{"intent": "open the valve"})
				var mu sync.Mutex
				acts, claims := 0, 0
				p.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
					body, _ := io.ReadAll(r.Body)
					r.Body = io.NopCloser(bytes.NewReader(body))
					mu.Lock()
					defer mu.Unlock()
					if bytes.Contains(body, []byte(`"status":"claimed"`)) {
						claims++ // the server accepts every claim
					}
					return false
				})
				var wg sync.WaitGroup
				for _, one := range []*executor{a, b} {
					wg.Go(func() {
						time.Sleep(rand.N(200 * time.Millisecond))
						epoch, err := one.claim(ref)
						if err == nil {
							err = one.start(ref, epoch)
						}
						if err != nil && !errors.Is(err, mess.AlreadyClaimed) && !errors.Is(err, mess.StaleToken) {
							t.Errorf("%v", err)
						}
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							acts++
						}
					})
				}
				wg.Wait()
				if acts > 1 {
					t.Errorf("%d have begun: %+v", acts, p.thread(ref))
				}
				if claims == 2 {
					both++
				}
				begun += acts
			})
		}
		t.Logf("in %d of 150 races the server accepted both claims; %d tasks began", both, begun)
		if both < 30 || begun < 100 {
			t.Errorf("too few races: the server accepted both claims %d times, %d tasks began", both, begun)
		}
	})
}

// A limit of every client: the server holds an update back for longer than all reads of a claim
// take. On a server that appends messages, the late executor sees the other start. On a server
// that writes the whole thread back, it sees none, and both start.
func TestDelayedUpdateIsALimit(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			a, b := p.newExecutor("a", "run-a", reference.Config{}), p.newExecutor("b", "run-b", reference.Config{})
			ref := p.request(map[string]any{"intent": "open the valve"})
			var once atomic.Bool
			p.SetLag(func() time.Duration {
				if once.CompareAndSwap(false, true) {
					return 10 * time.Second
				}
				return 0
			})
			result := make(chan error, 1)
			go func() {
				epoch, err := b.claim(ref)
				if err == nil {
					err = b.start(ref, epoch)
				}
				result <- err
			}()
			time.Sleep(time.Second)
			epoch, err := a.claim(ref)
			if err == nil {
				err = a.start(ref, epoch)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = <-result
			if name == "express" && !errors.Is(err, mess.AlreadyClaimed) {
				t.Errorf("the late one: %v", err)
			}
			if name == "php" && err != nil {
				t.Errorf("the server is better than in docs/reference/http.md: %v", err)
			}
			if name == "express" { // and the first one ends it as it is
				if _, err := a.send(ref, epoch, &mess.Status{Code: mess.Completed, Evidence: mess.ReadBack}); err != nil || p.thread(ref).Status != "completed" {
					t.Errorf("%v: %+v", err, p.thread(ref))
				}
			}
		})
	})
}

// For each fault of a server or of the network: no executor starts without a confirmed claim,
// and the executor continues after the fault.
func TestFaultsOfServerAndNetwork(t *testing.T) {
	answer := func(code int, kind, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "http://elsewhere.example/")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	faults := map[string]func(http.ResponseWriter){
		"HTML 404":       answer(404, "text/html", "<!DOCTYPE html><pre>Cannot GET</pre>"),
		"HTML 400":       answer(400, "text/html", "<pre>SyntaxError at JSON.parse</pre>"),
		"500":            answer(500, "text/html", ""),
		"502":            answer(502, "text/html", "<html>Bad Gateway</html>"),
		"a login page":   answer(200, "text/html", "<html>Welcome to the hotel</html>"),
		"a redirect":     answer(302, "text/html", ""),
		"half":           answer(200, "application/json", `{"threads":[{"ref":"2026-`),
		"null":           answer(200, "application/json", `null`),
		"a list":         answer(200, "application/json", `[]`),
		"other types":    answer(200, "application/json", `{"threads":7,"thread":[]}`),
		"another thread": answer(200, "application/json", `{"thread":{"ref":"2020-01-01-0000","status":"claimed","executor_id":"pi","messages":[]}}`),
		"huge":           func(w http.ResponseWriter) { _, _ = w.Write([]byte(strings.Repeat(" ", 17<<20))) },
	}
	for what, fault := range faults {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newReferenceServer(t, "express")
				b := p.newExecutor("pi", "run1", reference.Config{})
				b.register()
				ref := p.request(map[string]any{"intent": "look"})
				broken := func(w http.ResponseWriter, r *http.Request) bool { fault(w); return true }
				m, stop := b.follow()
				defer stop()
				p.SetFault(broken)
				time.Sleep(time.Minute)
				if _, err := b.claim(ref); err == nil {
					t.Error("claim with an unknown outcome succeeds, want an error")
				}
				p.SetFault(nil)
				time.Sleep(2 * time.Minute)
				if o := m.offers(); len(o) == 0 || o[0] != ref {
					t.Fatalf("not offered afterwards: %v", o)
				}
				epoch, err := b.claim(ref)
				if err != nil {
					t.Fatal(err)
				}
				p.SetFault(broken)
				if err := b.start(ref, epoch); err == nil {
					t.Error("start with an unknown outcome succeeds, want an error")
				}
				p.SetFault(nil)
				if err := b.start(ref, epoch); err != nil {
					t.Fatal(err)
				}
				p.SetFault(broken)
				done := &mess.Status{Code: mess.Completed, Evidence: mess.ReadBack}
				if _, err := b.send(ref, epoch, done); err == nil {
					t.Error("the report is called taken")
				}
				p.SetFault(nil)
				if _, err := b.send(ref, epoch, done); err != nil || p.thread(ref).Status != "completed" {
					t.Errorf("%v: %s", err, p.thread(ref).Status)
				}
			})
		})
	}
}

// The server has processed a message, and its answer is lost. A repeat of the message is
// idempotent.
func TestLostAcksAreHarmless(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			b := p.newExecutor("pi", "run1", reference.Config{})
			ref := p.request(map[string]any{"intent": "look"})
			lose := false
			p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != "PATCH" || !lose {
					return false
				}
				lose = false
				p.Answer(&lostResponse{w.Header()}, r)
				w.WriteHeader(502)
				return true
			})
			twice := func(items ...mess.Item) mess.Ack {
				lose = true
				m := mess.Message{ID: "run1-" + string(items[0].(*mess.Status).Code), Re: mess.Refs{ref}, Items: items}
				if _, err := b.Send(t.Context(), m); !errors.Is(err, mess.Unavailable) {
					t.Errorf("%v", err)
				}
				answer, err := b.Send(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				return *answer.Items[0].(*mess.Ack)
			}
			twice(&mess.Status{Code: mess.Claimed, Instance: "run1"})
			twice(&mess.Status{Code: mess.InProgress, Instance: "run1", ActionHash: "h"})
			twice(&mess.Status{Code: mess.Completed, Evidence: mess.ReadBack})
			if statuses := p.thread(ref).texts("pi"); strings.Join(statuses, " ") != "claimed in_progress completed" {
				t.Errorf("statuses are %v, want claimed in_progress completed", statuses)
			}
		})
	})
}

// The client reads text that the server accepts and an exchange of messkit rejects: it replaces
// half a character with the replacement character.
func TestInvalidUTF8IsReplaced(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			b := p.newExecutor("pi", "run1", reference.Config{})
			ref := p.request(map[string]any{"intent": "look @"})
			p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
				rec := httptest.NewRecorder()
				p.Answer(rec, r)
				for k, v := range rec.Header() {
					w.Header()[k] = v
				}
				w.WriteHeader(rec.Code)
				_, _ = w.Write(bytes.ReplaceAll(rec.Body.Bytes(), []byte("look @"), []byte(`look \ud83d`)))
				return true
			})
			m, stop := b.follow()
			defer stop()
			time.Sleep(10 * time.Second)
			if o := m.offers(); len(o) != 1 || o[0] != ref || m.all()[0].Items[0].(*mess.Request).Intent != "look \ufffd" {
				t.Errorf("%+v", m.all())
			}
		})
	})
}

// lostResponse is a response writer without a client.
type lostResponse struct{ head http.Header }

func (d *lostResponse) Header() http.Header         { return d.head }
func (d *lostResponse) Write(p []byte) (int, error) { return len(p), nil }
func (d *lostResponse) WriteHeader(int)             {}
