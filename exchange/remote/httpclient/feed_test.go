package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// eventLog collects what an executor receives.
type eventLog struct {
	mu   sync.Mutex
	refs []string
}

func (h *eventLog) message(m mess.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refs = append(h.refs, m.Re...)
}

func (h *eventLog) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.refs)
}

// receives runs Receive until the scenario ends. It returns the received messages, and a function
// that ends Receive and returns its error.
func receives(t *testing.T, c *httpclient.Client) (*eventLog, func() error) {
	h := &eventLog{}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Receive(ctx, h.message) }()
	return h, func() error { stop(); return <-done }
}

// pollLog records the start positions of requests for events.
type pollLog struct {
	mu   sync.Mutex
	from []string
}

func (a *pollLog) note(r *http.Request) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	kind := "stream"
	if r.URL.Query().Has("wait") {
		kind = "poll"
	}
	a.from = append(a.from, kind+" "+r.Header.Get("Last-Event-ID")+r.URL.Query().Get("after"))
	return len(a.from)
}

func (a *pollLog) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.from)
}

func TestStreamResumesAfterCut(t *testing.T) {
	var a pollLog
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("as") != "executor" || r.Header.Get("Authorization") != "Bearer mess_home_secret" {
			t.Errorf("%s, %v", r.URL, r.Header)
		}
		write(w, ": hello\n\n")
		switch a.note(r) {
		case 1:
			write(w, "%s%sid: 3\nevent: message\ndata: {\"re\":\"c", message("1", "a"), message("2", "b"))
		case 2: // the last one once more, as an exchange may
			write(w, "%s%s", message("2", "b"), message("3", "c"))
			<-r.Context().Done()
		}
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		h, stop := receives(t, c)
		time.Sleep(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"a", "b", "b", "c"}, h.all()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"stream ", "stream 2"}, a.all()); diff != "" {
			t.Error(diff)
		}
	})
}

// A stream is dead after 45 s without a byte. It is alive without an event, and during a slow
// event.
func TestSilentStreamIsDead(t *testing.T) {
	var a pollLog
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		write(w, ": hello\n\n")
		if a.note(r) > 1 {
			<-r.Context().Done()
			return
		}
		for range 8 {
			time.Sleep(15 * time.Second)
			write(w, ": beat\n\n")
		}
		for _, b := range message("1", "slowly") { // 80 letters in half an hour
			time.Sleep(30 * time.Second)
			write(w, "%c", b)
		}
		<-r.Context().Done() // and now nothing
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		h, stop := receives(t, c)
		time.Sleep(time.Hour - time.Second)
		if diff := cmp.Diff([]string{"slowly"}, h.all()); diff != "" {
			t.Error(diff)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		got := a.all()
		if len(got) < 2 || got[0] != "stream " || got[1] != "stream 1" {
			t.Errorf("asked %v", got)
		}
	})
}

// The client does not time out while the handler works, for example while it asks a person.
func TestSlowHandlerCausesNoTimeout(t *testing.T) {
	var a pollLog
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		a.note(r)
		write(w, ": hello\n\n%s", message("1", "a"))
		for r.Context().Err() == nil {
			time.Sleep(15 * time.Second)
			write(w, ": beat\n\n")
		}
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		err := c.Receive(ctx, func(mess.Message) { time.Sleep(10 * time.Minute) })
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"stream "}, a.all()); diff != "" {
			t.Error(diff)
		}
	})
}

// Behind a proxy that buffers streams the client polls, and later tries a stream again.
func TestStreamIsRetriedAfterPolling(t *testing.T) {
	var a pollLog
	n := 0
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		a.note(r)
		if !r.URL.Query().Has("wait") {
			<-r.Context().Done()
			return
		}
		if r.URL.Query().Get("wait") != "20s" || r.URL.Query().Get("as") != "executor" {
			t.Error(r.URL)
		}
		time.Sleep(10 * time.Second)
		n++
		fmt.Fprintf(w, `{"events":[{"id":"e%d","event":"message","data":{"re":"r%d","MESS":[{"cancel":{}}]}}],"last":"l%[1]d"}`, n, n)
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		h, stop := receives(t, c)
		time.Sleep(36 * time.Second)
		if diff := cmp.Diff([]string{"r1", "r2", "r3"}, h.all()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"stream ", "poll ", "poll l1", "poll l2", "poll l3"}, a.all()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(10 * time.Minute)
		if !slices.ContainsFunc(a.all()[1:], func(s string) bool { return strings.HasPrefix(s, "stream l") }) {
			t.Errorf("no stream was tried again: %v", a.all())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The client waits between polls of a server that answers them immediately.
func TestPollsArePaced(t *testing.T) {
	var a pollLog
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		a.note(r)
		if !r.URL.Query().Has("wait") {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, `{"events":[],"last":""}`)
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		_, stop := receives(t, c)
		time.Sleep(10 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := len(a.all()); n > 100 {
			t.Errorf("asked %d times in 10 minutes", n)
		}
	})
}

// The client retries an unreachable exchange less and less often, and finds it when it is back.
func TestBackoff(t *testing.T) {
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		write(w, ": hello\n\n%s", message("1", "back"))
		for r.Context().Err() == nil {
			time.Sleep(15 * time.Second)
			write(w, ": beat\n\n")
		}
	}, func(t *testing.T, c *httpclient.Client, l *pipeNetwork) {
		l.breakConnections(true)
		h, stop := receives(t, c)
		time.Sleep(10 * time.Minute)
		if n := len(l.tries()); n < 10 || n > 60 {
			t.Errorf("%d tries in 10 minutes", n)
		}
		l.breakConnections(false)
		time.Sleep(46 * time.Second)
		if diff := cmp.Diff([]string{"back"}, h.all()); diff != "" {
			t.Error(diff)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// After a long working connection, the first retries come soon again.
func TestBackoffResetsAfterConnection(t *testing.T) {
	var a pollLog
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		a.note(r)
		write(w, ": hello\n\n")
		for range 4 {
			time.Sleep(15 * time.Second)
			write(w, ": beat\n\n")
		}
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		_, stop := receives(t, c)
		time.Sleep(10*time.Minute + 30*time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := len(a.all()); n < 10 {
			t.Errorf("%d streams of a minute in 10 minutes", n)
		}
	})
}

func TestReceiveEndsWithContext(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		want mess.ErrorCode
	}{
		{"the key is not known", rejectAll(401, `{"error":"the exchange does not know the key","why":"unauthorised"}`), mess.Unauthorized},
		{"the exchange is another", rejectAll(403, `{"error":"Forbidden"}`), mess.Forbidden},
		{"the exchange has started anew", func(w http.ResponseWriter, _ *http.Request) {
			write(w, ": hello\n\nid: 1\nevent: reset\ndata: {}\n\n")
		}, mess.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			clientOver(t, c.h, func(t *testing.T, x *httpclient.Client, _ *pipeNetwork) {
				err := x.Receive(t.Context(), func(m mess.Message) { t.Errorf("%+v", m) })
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}

// The client skips an event that it cannot decode, for example of a newer exchange, and reads
// the next one.
func TestUnreadableEventIsSkipped(t *testing.T) {
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		write(w, ": hello\n\nid: 1\nevent: message\ndata: {\n\nretry: 1\nid: 2\n\ndata: 7\n\nevent: new\n\n%s", message("3", "a"))
		<-r.Context().Done()
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		h, stop := receives(t, c)
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"a"}, h.all()); diff != "" {
			t.Error(diff)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestFollow(t *testing.T) {
	var a pollLog
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("as") {
			t.Error(r.URL)
		}
		write(w, ": hello\n\n")
		if a.note(r) == 1 {
			write(w, "id: 1\nevent: reset\ndata: {}\n\n")
			return
		}
		write(w, "id: 2\nevent: message\ndata: %s\n\n", `{"kind":"message","thread":{"ref":"a","status":"claimed","intent":"look","requestor_id":"me","executor_id":"pi","priority":"normal","created_at":"2026-11-21T02:23:20.219Z","updated_at":"2026-11-21T02:23:24+00:00"},"message":{"from":"pi","ref":"a/claim-001","re":"a","MESS":[{"status":{"code":"claimed"}}]}}`)
		<-r.Context().Done()
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		var got []httpclient.Event
		err := c.Follow(ctx, "", func(e httpclient.Event) error { got = append(got, e); return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		at := time.Date(2026, 11, 21, 2, 23, 20, 219e6, time.UTC)
		want := []httpclient.Event{
			{ID: "1", Kind: "reset"},
			{ID: "2", Kind: "message", Thread: httpclient.Thread{
				Ref: "a", Status: mess.Claimed, Intent: "look", Requester: "me", Executor: "pi", Priority: mess.Normal,
				Created: at, Updated: at.Truncate(time.Second).Add(4 * time.Second),
			}, Message: mess.Message{From: "pi", Ref: "a/claim-001", Re: mess.Refs{"a"}, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"stream " + httpclient.Start, "stream 1"}, a.all()); diff != "" {
			t.Error(diff)
		}
	})
}

// Follow returns an error if the exchange is unreachable at first. It reconnects to an exchange
// that becomes unreachable later.
func TestFollowNeedsReachableExchange(t *testing.T) {
	clientOver(t, func(w http.ResponseWriter, _ *http.Request) { write(w, ": hello\n\n%s", message("1", "a")) }, func(t *testing.T, c *httpclient.Client, l *pipeNetwork) {
		l.breakConnections(true)
		err := c.Follow(t.Context(), "", func(httpclient.Event) error { return nil })
		if !errors.Is(err, mess.Unavailable) || !strings.Contains(err.Error(), "connection refused") {
			t.Error(err)
		}
		l.breakConnections(false)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		n := 0
		err = c.Follow(ctx, "", func(httpclient.Event) error { l.breakConnections(true); n++; return nil })
		if !errors.Is(err, context.DeadlineExceeded) || n == 0 || len(l.tries()) < 10 {
			t.Errorf("%v after %d events and %d tries", err, n, len(l.tries()))
		}
	})
}

// rejectAll returns a handler that always answers with an error.
func rejectAll(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}
