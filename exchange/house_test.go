package exchange_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// house is a fixture: an exchange in a bubble of fake time, with actors that send messages in YAML.
type house struct {
	t     *testing.T
	x     *exchange.Exchange
	store exchange.Store
	stop  func()
	ears  []*ear

	clock   func() time.Time   // nil: time.Now
	confirm exchange.ConfirmBy // how a person confirms; "": by a script
	proof   exchange.Proof     // of the messages
}

var (
	agent    = exchange.Actor{ID: "claude-agent", Roles: exchange.Requester}
	other    = exchange.Actor{ID: "other-agent", Roles: exchange.Requester}
	person   = exchange.Actor{ID: "teague", Roles: exchange.Requester | exchange.Operator}
	watcher  = exchange.Actor{ID: "watcher", Roles: exchange.Observer}
	kitchen  = exchange.Actor{ID: "kitchen-pi", Roles: exchange.ExecutorRole}
	garage   = exchange.Actor{ID: "garage-pi", Roles: exchange.ExecutorRole}
	stranger = exchange.Actor{ID: "stranger", Roles: exchange.ExecutorRole}
)

// inHouse runs a test in an exchange over an empty memory store.
func inHouse(t *testing.T, story func(*house)) {
	t.Helper()
	inHouseOver(t, memory.New(), exchange.DefaultConfig(), story)
}

func inHouseOver(t *testing.T, store exchange.Store, cfg exchange.Config, story func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, store: store}
		h.open(cfg)
		story(h)
		for _, e := range h.ears {
			e.stop()
		}
		h.stop()
	})
}

// open starts an exchange over the store of the fixture. The key alone proves a person, unless
// h.confirm is set.
func (h *house) open(cfg exchange.Config) {
	h.t.Helper()
	cfg.Confirm = cmp.Or(h.confirm, exchange.ConfirmScript)
	clock := h.clock
	if clock == nil {
		clock = time.Now
	}
	x, err := exchange.Open(h.t.Context(), cfg, h.store, clock, slog.New(slog.DiscardHandler))
	if err != nil {
		h.t.Fatalf("Open: %v", err)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	h.x = x
	h.stop = func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("Run: %v", err)
		}
	}
}

// after lets time pass.
func (h *house) after(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

func (h *house) try(who exchange.Actor, text string) (mess.Message, error) {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatalf("%s says what is no message: %v\n%s", who.ID, err, text)
	}
	return h.x.Post(h.t.Context(), exchange.Inbound{Actor: who, Channel: "test", Proof: h.proof, Message: m})
}

// says posts a message that the exchange must accept, and returns the first ack.
func (h *house) says(who exchange.Actor, text string) mess.Ack {
	h.t.Helper()
	m, err := h.try(who, text)
	if err != nil {
		h.t.Fatalf("%s says %s: %v", who.ID, text, err)
	}
	synctest.Wait()
	for _, item := range m.Items {
		if a, ok := item.(*mess.Ack); ok {
			return *a
		}
	}
	h.t.Fatalf("%s says %s: no ack in the answer", who.ID, text)
	return mess.Ack{}
}

// refuses posts a message that the exchange must reject with a code, and with words in the text of
// the error.
func (h *house) refuses(who exchange.Actor, text string, why mess.ErrorCode, words ...string) *mess.Error {
	h.t.Helper()
	_, err := h.try(who, text)
	r, ok := errors.AsType[*mess.Error](err)
	if !ok || r.Code != why {
		h.t.Fatalf("%s says %s: %v, want a refusal as %s", who.ID, text, err, why)
	}
	for _, w := range words {
		if !strings.Contains(r.Error(), w) {
			h.t.Errorf("%s says %s: refused with %q, want %q in it", who.ID, text, r, w)
		}
	}
	return r
}

// registers registers executors that can all do the same and speak MESS 1.1.
func (h *house) registers(who exchange.Actor, capabilities string) {
	h.t.Helper()
	h.says(who, "config: {executor: {id: "+who.ID+", capabilities: ["+capabilities+"], versions: [1.0.0, 1.1.0], holding: []}}")
}

// beats sends heartbeats for a claim of who during d, and returns the last ack.
func (h *house) beats(who exchange.Actor, ref string, epoch string, d time.Duration) mess.Ack {
	h.t.Helper()
	var ack mess.Ack
	for range d / (10 * time.Second) {
		h.after(10 * time.Second)
		ack = h.says(who, "config: {executor: {id: "+who.ID+", holding: [{ref: "+ref+", epoch: "+epoch+"}]}}")
	}
	return ack
}

func (h *house) thread(ref string) exchange.Thread {
	h.t.Helper()
	t, err := h.x.Thread(h.t.Context(), person, ref)
	if err != nil {
		h.t.Fatalf("Thread(%s): %v", ref, err)
	}
	return t
}

// is checks a thread's status.
func (h *house) is(ref string, want mess.Code) {
	h.t.Helper()
	if got := h.thread(ref).Status; got != want {
		h.t.Fatalf("%s is %s, want %s", ref, got, want)
	}
}

// lastStatus returns the last status item in a thread.
func (h *house) lastStatus(ref string) mess.Status {
	h.t.Helper()
	var last mess.Status
	for _, m := range h.thread(ref).Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				last = *s
			}
		}
	}
	return last
}

// ear collects the events that an actor gets.
type ear struct {
	mu     sync.Mutex
	events []exchange.Event
	stop   func()
}

// listens follows the exchange as who from now on.
func (h *house) listens(who exchange.Actor, after string) *ear {
	h.t.Helper()
	e := &ear{}
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.x.Follow(ctx, who, after, func(ev exchange.Event) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.events = append(e.events, ev)
			return nil
		}); err != nil {
			h.t.Errorf("Follow: %v", err)
		}
	}()
	e.stop = func() { cancel(); <-done }
	h.ears = append(h.ears, e)
	synctest.Wait()
	return e
}

// heard returns the events since the last call, one line for each.
func (e *ear) heard() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, ev := range e.events {
		line := string(ev.Kind) + " " + ev.Thread.Ref
		for _, item := range ev.Message.Items {
			line += " " + string(item.Kind())
			if s, ok := item.(*mess.Status); ok {
				line += ":" + string(s.Code)
			}
		}
		lines = append(lines, line)
	}
	e.events = nil
	return lines
}

// replaceRef puts a thread's ref into a message's text.
func replaceRef(text, ref string) string { return strings.ReplaceAll(text, "{ref}", ref) }
