package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

var quiet = slog.New(slog.DiscardHandler)

// open starts an exchange with its HTTP API, and returns a client for the operator.
func open(t *testing.T) (*httptest.Server, *httpclient.Client) {
	t.Helper()
	dir := t.TempDir()
	k, err := keys.Open(dir, "home")
	if err != nil {
		t.Fatal(err)
	}
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(wg.Wait)
	s := httptest.NewServer(httpapi.New(x, k, httpapi.Config{Version: "1"}, quiet).Handler())
	t.Cleanup(s.Close)
	key, err := os.ReadFile(filepath.Join(dir, "operator.key"))
	if err != nil {
		t.Fatal(err)
	}
	return s, client(t, s.URL, httpclient.Secret(strings.TrimSpace(string(key))))
}

func client(t *testing.T, url string, key httpclient.Secret) *httpclient.Client {
	t.Helper()
	c, err := httpclient.New(httpclient.Config{URL: url, Key: key}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func enrolled(t *testing.T, url string, c *httpclient.Client, id string) *httpclient.Client {
	t.Helper()
	key, err := c.Register(t.Context(), id, "Name of "+id, "")
	if err != nil {
		t.Fatal(err)
	}
	return client(t, url, key)
}

func postText(t *testing.T, c *httpclient.Client, text string) mess.Message {
	t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Send(t.Context(), m)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}

// An executor and a requester complete a task over the network.
func TestTaskOverNetwork(t *testing.T) {
	s, op := open(t)
	pi := enrolled(t, s.URL, op, "kitchen-pi")
	postText(t, pi, `config: {executor: {id: kitchen-pi, capabilities: [take-photo], versions: [1.1.0]}}`)

	got := make(chan mess.Message, 10)
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	wg.Go(func() {
		if err := pi.Receive(ctx, func(m mess.Message) { got <- m }); err != nil {
			t.Error(err)
		}
	})
	answer := postText(t, op, `request: {intent: look into the fridge, requires: [take-photo]}`)
	ref := answer.Items[0].(*mess.Ack).Ref
	offer := <-got
	if r, ok := offer.Items[0].(*mess.Request); !ok || r.Intent != "look into the fridge" || offer.Re[0] != ref {
		t.Fatalf("offer: %+v", offer)
	}
	claim := postText(t, pi, `{re: `+ref+`, MESS: [{status: {code: claimed, estimate: PT10S}}]}`).Items[0].(*mess.Ack)
	epoch := fmt.Sprint(claim.Epoch)
	postText(t, pi, `{re: `+ref+`, epoch: `+epoch+`, MESS: [{status: {code: in_progress}}]}`)
	media, err := pi.Attach(t.Context(), ref, "fridge.jpg", "image/jpeg", strings.NewReader("not a real picture"))
	if err != nil || media.MIME != "image/jpeg" || *media.Size != 18 {
		t.Fatalf("%+v, %v", media, err)
	}
	done := mess.Message{Re: mess.Refs{ref}, Epoch: claim.Epoch, Items: []mess.Item{
		&mess.Status{Code: mess.Completed, Evidence: mess.Photographed},
		&mess.Response{Content: []mess.Entry{mess.TextEntry("milk"), mess.MediaEntry("image", media)}},
	}}
	if _, err := pi.Send(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	th, err := op.Thread(t.Context(), ref)
	if err != nil || th.Status != mess.Completed || th.Executor != "kitchen-pi" || th.Intent == "" || th.Created.IsZero() {
		t.Fatalf("%+v, %v", th, err)
	}
	last := th.Messages[len(th.Messages)-1]
	for _, m := range th.Messages {
		if len(m.Items) == 2 {
			last = m
		}
	}
	file, ok := last.Items[1].(*mess.Response).Content[1].Media()
	if !ok || last.From != "kitchen-pi" || last.Ref == "" || last.Received == "" {
		t.Fatalf("%+v", last)
	}
	data, mime, err := op.Attachment(t.Context(), ref, file.File)
	if err != nil || mime != "image/jpeg" {
		t.Fatal(mime, err)
	}
	defer data.Close()
	if text, err := io.ReadAll(data); err != nil || string(text) != "not a real picture" {
		t.Errorf("%q, %v", text, err)
	}
	if list, err := op.List(t.Context(), httpclient.Filter{Status: "completed", Limit: 5}); err != nil || len(list) != 1 || list[0].Ref != ref {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := op.Executors(t.Context()); err != nil || len(list) != 1 || list[0].ID != "kitchen-pi" || !list[0].Live {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := op.Capabilities(t.Context()); err != nil || len(list) != 1 || list[0].ID != "take-photo" {
		t.Errorf("%+v, %v", list, err)
	}
	stop()
	wg.Wait()
}

// The client returns the same error as the exchange in its own process.
func TestErrorsMatchLocalExchange(t *testing.T) {
	s, op := open(t)
	a, b := enrolled(t, s.URL, op, "a"), enrolled(t, s.URL, op, "b")
	for name, c := range map[string]*httpclient.Client{"a": a, "b": b} {
		postText(t, c, `config: {executor: {id: `+name+`, capabilities: [x]}}`)
	}
	ref := postText(t, op, `request: {intent: look, requires: [x]}`).Items[0].(*mess.Ack).Ref
	postText(t, a, `status: {re: `+ref+`, code: claimed}`)
	_, err := b.Send(t.Context(), mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}})
	r, ok := errors.AsType[*mess.Error](err)
	if !ok || !errors.Is(err, mess.AlreadyClaimed) || r.Holder != "a" || r.Ref != ref || r.Status != mess.Claimed {
		t.Errorf("%+v", err)
	}
	if _, err := op.Thread(t.Context(), "nothing"); !errors.Is(err, mess.NotFound) {
		t.Error(err)
	}
	if _, err := client(t, s.URL, "mess_home_x").List(t.Context(), httpclient.Filter{}); !errors.Is(err, mess.Unauthorized) {
		t.Error(err)
	}
	if _, err := client(t, s.URL, "").Register(t.Context(), "a", "", ""); !errors.Is(err, mess.Conflict) {
		t.Error(err)
	}
}

// proxy forwards connections to a server until the test cuts them.
type proxy struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: strings.TrimPrefix(to, "http://")}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", p.to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			wg.Go(func() { io.Copy(out, in); out.Close() })
			wg.Go(func() { io.Copy(in, out); in.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); p.cut(); wg.Wait() })
	return p
}

func (p *proxy) url() string { return "http://" + p.l.Addr().String() }

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// Follow loses no event and gives none twice over a connection that breaks repeatedly.
func TestFollowSurvivesLostConnections(t *testing.T) {
	s, op := open(t)
	p := newProxy(t, s.URL)
	watch := enrolled(t, p.url(), op, "watcher")
	asker := watch
	const n = 12
	refs := make(chan string, n)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := watch.Follow(ctx, httpclient.Start, func(e httpclient.Event) error {
			if e.Kind == "reset" {
				close(ready)
				return nil
			}
			refs <- e.Thread.Ref
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-ready
	direct := asker
	for i := range n {
		m := mess.Message{ID: fmt.Sprint(i), Items: []mess.Item{&mess.Request{ID: fmt.Sprint("r", i), Intent: "look"}}}
		for {
			if _, err := direct.Send(t.Context(), m); err == nil {
				break
			} else if !errors.Is(err, mess.Unavailable) {
				t.Fatal(err)
			}
		}
		if i%3 == 0 {
			p.cut()
		}
	}
	seen := map[string]bool{}
	for range n {
		ref := <-refs
		if seen[ref] {
			t.Errorf("%s came twice", ref)
		}
		seen[ref] = true
	}
	stop()
	wg.Wait()
}

// The client detects a proxy that buffers streams, and polls instead.
func TestBufferingProxyLeadsToPolling(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the hello of a stream")
	}
	s, op := open(t)
	held := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") && !r.URL.Query().Has("wait") {
			<-r.Context().Done()
			return
		}
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, s.URL+r.URL.RequestURI(), r.Body)
		req.Header = r.Header
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		io.Copy(w, res.Body)
	}))
	t.Cleanup(held.Close)
	watch := enrolled(t, held.URL, op, "watcher")
	errDone := errors.New("done")
	err := watch.Follow(t.Context(), httpclient.Start, func(e httpclient.Event) error {
		if e.Kind == "reset" {
			postText(t, watch, `request: {intent: look}`)
			return nil
		}
		return errDone
	})
	if !errors.Is(err, errDone) {
		t.Error(err)
	}
}

// Each case is a response of a faulty server, and the resulting error.
func TestFaultyServers(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		why  mess.ErrorCode
		text string
	}{
		{"HTML", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, mess.Unavailable, "is this the right address?"},
		{"a proxy's 502", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, mess.Unavailable, "502 Bad Gateway"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		}, mess.Unavailable, "points to \"http://elsewhere.example/\""},
		{"an old server's 409", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409); fmt.Fprint(w, `{"error":"no"}`) }, mess.Conflict, "no"},
		{"a cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, mess.Unavailable, "cut off"},
		{"busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, mess.Unavailable, "429"},
	} {
		s := httptest.NewServer(c.h)
		x, err := httpclient.New(httpclient.Config{URL: s.URL, Exchange: "home", Key: "mess_home_secret"}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Request{Intent: "x"}}})
		if !errors.Is(err, c.why) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.name, err)
		}
		s.Close()
		if _, err = x.Health(t.Context()); !errors.Is(err, mess.Unavailable) || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("%s, gone: %v", c.name, err)
		}
	}
}

// Streams without a first event, with an event in two parts, with comments, and with an end.
func TestStreams(t *testing.T) {
	const text = ": hello\n\nid: 1\nevent: message\ndata: {\"thread\":{\"ref\":\"a\"},\r\ndata: \"message\":{\"MESS\":[]}}\n\n: beat\n\nid: 2\nevent: message\ndata: {\"thread\":{\"ref\":\"b\"}}\n\nid: 3\nevent: message\ndata: cut"
	var asked []string
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		if len(asked) == 1 {
			fmt.Fprint(w, text)
			return
		}
		fmt.Fprint(w, ": hello\n\nid: 4\nevent: message\ndata: {\"thread\":{\"ref\":\"c\"}}\n\n")
	}))
	t.Cleanup(s.Close)
	x, err := httpclient.New(httpclient.Config{URL: s.URL, Exchange: "home"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	end := errors.New("enough")
	err = x.Follow(t.Context(), "0", func(e httpclient.Event) error {
		if got = append(got, e.ID+e.Thread.Ref); len(got) == 3 {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) || strings.Join(got, " ") != "1a 2b 4c" || strings.Join(asked, " ") != "0 2" {
		t.Errorf("%v: got %v, asked from %v", err, got, asked)
	}
}
