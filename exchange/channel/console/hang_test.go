package console_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/chromium"
	"github.com/messkit/messkit/mess"
)

// hangingStore is a store that can hang, like a lost disk.
type hangingStore struct {
	exchange.Store
	mu   sync.Mutex
	gone chan struct{} // calls wait until the test closes it; nil: no call waits
}

// hang has all calls wait until the test has ended.
func (s *hangingStore) hang() (free func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := make(chan struct{})
	s.gone = gone
	return func() { close(gone) }
}

func (s *hangingStore) wait() {
	s.mu.Lock()
	gone := s.gone
	s.mu.Unlock()
	if gone != nil {
		<-gone
	}
}

func (s *hangingStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	s.wait()
	return s.Store.Append(ctx, step)
}

func (s *hangingStore) Read(ctx context.Context, ref string) (exchange.Thread, thread.Rev, error) {
	s.wait()
	return s.Store.Read(ctx, ref)
}

func (s *hangingStore) Lookup(ctx context.Context, k thread.Key) (string, error) {
	s.wait()
	return s.Store.Lookup(ctx, k)
}

func (s *hangingStore) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	s.wait()
	return s.Store.Put(ctx, kind, id, doc, after)
}

// stopRecorder takes the stops of the executor here.
type stopRecorder struct {
	fakeDaemon
	taken chan string
}

func (s *stopRecorder) Stop(by, reason string) { s.taken <- by + ": " + reason }

// The stop works on a loaded page while every other request hangs, its stream is dead, and
// another window hangs as well.
func TestStopWorksWhileEverythingHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("this test needs a browser")
	}
	b := chromium.Start(t)
	store := &hangingStore{Store: memory.New()}
	log := slog.New(slog.DiscardHandler)
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), store, time.Now, log)
	if err != nil {
		t.Fatal(err)
	}
	pi := exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}
	register := mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: "pi", Versions: []string{"1.1.0"}}}}}
	if _, err := x.Post(t.Context(), exchange.Inbound{Actor: pi, Channel: "test", Message: register}); err != nil {
		t.Fatal(err)
	}
	k, err := keys.Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	place := &stopRecorder{taken: make(chan string, 8)}
	c := console.Open(x, k, console.Config{LocalExecutor: place}, log)
	key, err := k.Issue("ana", operator)
	if err != nil {
		t.Fatal(err)
	}
	guests := map[string]httpapi.MountedHandler{}
	for _, path := range c.MountedPaths() {
		guests[path] = c
	}
	api := httpapi.New(x, k, httpapi.Config{Pages: c.Pages(), SessionKey: c.SessionKey, Unlimited: []string{console.StopPath}, MountedHandlers: guests}, log)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- api.Run(ctx, l) }()
	url := "http://" + l.Addr().String()

	p := b.Open(t, 360, 740)
	p.Go(url + "/#tasks")
	p.Fill("#key", key)
	p.Press("Enter")
	p.Until(`document.getElementById("line").textContent === "live"`)
	other := b.Open(t, 1280, 800)
	other.Go(url + "/#tasks")
	other.Until(`document.getElementById("line").textContent === "live"`)

	free := store.hang()
	t.Cleanup(func() {
		free()
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	// All the connections that a browser has for a host wait, of both windows.
	for _, tab := range []*chromium.Tab{other, p} {
		tab.Fill("#intent", "turn on the light")
		tab.Click("#ask button", "Ask")
		for range 8 {
			tab.Eval(`void (location.hash = "#task/" + Math.random())`, nil)
			tab.Eval(`new Promise((done) => setTimeout(done))`, nil)
		}
	}
	p.Front()
	p.Hold("#stop button", false, `!document.querySelector("#stop button").classList.contains("held")`)
	select {
	case by := <-place.taken:
		if !strings.HasPrefix(by, "ana: stop button") {
			t.Errorf("stopped by %q", by)
		}
	case <-time.After(time.Minute):
		var text string
		p.Eval(`document.body.innerText`, &text)
		t.Fatalf("the executor here was not stopped; the page:\n%s", text)
	}
	p.Text("The executor here has stopped")
}
