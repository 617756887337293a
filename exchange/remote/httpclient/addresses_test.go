package httpclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/mess"
)

// A list of addresses must be those of one exchange.
func TestAddresses(t *testing.T) {
	for text, fault := range map[string]string{
		"http://a:8420":                              "",
		"http://a:8420,http://b:8420":                "",
		"https://a/mess, https://b:9/mess/":          "",
		"http://a,https://b":                         "same scheme and path",
		"http://a/x,http://b":                        "same scheme and path",
		"http://a,":                                  "is missing",
		"http://a,http://user:secret@b":              "contains a password",
		strings.Repeat("http://a,", 16) + "http://a": "write 16 at most",
		"http://a,mqtt://b":                          "not the address of an exchange",
	} {
		err := httpclient.Config{URL: text}.Validate()
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
	if got := httpclient.First(" http://a:1/ ,http://b"); got != "http://a:1" {
		t.Errorf("the first address is %q", got)
	}
}

func FuzzAddresses(f *testing.F) {
	f.Add("http://a:8420,http://b:8420")
	f.Add("https://[::1]:1/x, https://h/x/")
	f.Fuzz(func(t *testing.T, text string) {
		cfg := httpclient.Config{URL: text}
		if cfg.Validate() != nil {
			return
		}
		c, err := httpclient.New(cfg, output.NoLog)
		if err != nil || strings.Count(c.Name(), ", ") > 15 {
			t.Errorf("%q: a valid address makes no client: %v", text, err)
		}
	})
}

// fakeNode is a node of an exchange that counts its requests.
type fakeNode struct {
	*httptest.Server
	requests atomic.Int32
	answer   atomic.Pointer[http.HandlerFunc] // nil: it answers as an exchange
}

func newFakeNode(t *testing.T) *fakeNode {
	n := &fakeNode{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.requests.Add(1); n.answer.Load() != nil {
			(*n.answer.Load())(w, r)
			return
		}
		if r.Host != strings.TrimPrefix(n.URL, "http://") {
			t.Errorf("a request for %s at %s", r.Host, n.URL)
		}
		write(w, `{"exchange_id":"home","MESS":[{"ack":{"re":"r"}}]}`)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *fakeNode) says(answer http.HandlerFunc) { n.answer.Store(&answer) }

func clientOf(t *testing.T, urls ...string) *httpclient.Client {
	t.Helper()
	c, err := httpclient.New(httpclient.Config{URL: strings.Join(urls, ","), Exchange: "home", Key: "k"}, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A client goes on at the next node if one does not answer, and stays there.
func TestClientMovesToNextNode(t *testing.T) {
	a, b := newFakeNode(t), newFakeNode(t)
	c := clientOf(t, "http://"+freeport.Address(t), a.URL, b.URL)
	send := func() error {
		_, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Request{Intent: "look"}}})
		return err
	}
	if err := send(); err != nil || a.requests.Load() != 1 {
		t.Fatalf("the first node is away: %v, the second one has %d requests", err, a.requests.Load())
	}
	if err := send(); err != nil || a.requests.Load() != 2 {
		t.Errorf("the client does not stay: %v, %d requests", err, a.requests.Load())
	}
	a.says(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	if err := send(); !errors.Is(err, mess.Unavailable) || b.requests.Load() != 0 {
		t.Errorf("a node that does not serve: %v, and another one has %d requests", err, b.requests.Load())
	}
	if err := send(); err != nil || b.requests.Load() != 1 {
		t.Errorf("the next request: %v, the third node has %d requests", err, b.requests.Load())
	}
}

// A request that a node may have taken goes to no other node by itself. One that changes nothing does.
func TestClientRepeatsNoEffect(t *testing.T) {
	a, b := newFakeNode(t), newFakeNode(t)
	a.says(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) // the connection breaks
	c := clientOf(t, a.URL, b.URL)
	_, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Request{Intent: "look"}}})
	if !errors.Is(err, mess.Unavailable) || b.requests.Load() != 0 {
		t.Errorf("after a broken connection: %v, and another node has %d requests", err, b.requests.Load())
	}
	c = clientOf(t, a.URL, b.URL)
	if _, err := c.Health(t.Context()); err != nil || b.requests.Load() != 1 {
		t.Errorf("a read: %v, and the other node has %d requests", err, b.requests.Load())
	}
}

// A stream of events goes on at another node with the id of its last event.
func TestStreamMovesToNextNode(t *testing.T) {
	a, b := newFakeNode(t), newFakeNode(t)
	a.says(func(w http.ResponseWriter, r *http.Request) {
		write(w, ": hello\n\n%s", message("a-1", "one"))
		<-r.Context().Done()
	})
	var once sync.Once
	last := make(chan string, 1)
	b.says(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { last <- r.Header.Get("Last-Event-ID") })
		write(w, ": hello\n\n%s", message("b-1", "two"))
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan string, 8)
	done := make(chan error, 1)
	go func() { done <- clientOf(t, a.URL, b.URL).Receive(ctx, func(m mess.Message) { got <- m.Re[0] }) }()
	for _, want := range []string{"one", "two"} {
		select {
		case ref := <-got:
			if ref != want {
				t.Errorf("the executor gets %s, want %s", ref, want)
			}
			if err := a.Listener.Close(); err != nil && want == "one" {
				t.Error(err)
			}
			a.CloseClientConnections()
		case <-ctx.Done():
			t.Fatalf("the executor does not get %s", want)
		}
	}
	if id := <-last; id != "a-1" {
		t.Errorf("the stream goes on after %q, want a-1", id)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
