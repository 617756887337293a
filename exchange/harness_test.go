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

// harness is a fixture: an exchange in a bubble of fake time, with actors that send messages in YAML.
type harness struct {
	t             *testing.T
	x             *exchange.Exchange
	store         exchange.Store
	stop          func()
	subscriptions []*subscription

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

// withHarness runs a test in an exchange over an empty memory store.
func withHarness(t *testing.T, test func(*harness)) {
	t.Helper()
	withHarnessOver(t, memory.New(), exchange.DefaultConfig(), test)
}

func withHarnessOver(t *testing.T, store exchange.Store, cfg exchange.Config, test func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{t: t, store: store}
		h.open(cfg)
		test(h)
		for _, e := range h.subscriptions {
			e.stop()
		}
		h.stop()
	})
}

// open starts an exchange over the store of the fixture. The key alone proves a person, unless
// h.confirm is set.
func (h *harness) open(cfg exchange.Config) {
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

// advance lets time pass.
func (h *harness) advance(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

func (h *harness) post(actor exchange.Actor, text string) (mess.Message, error) {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatalf("post by %s is not a message: %v\n%s", actor.ID, err, text)
	}
	return h.x.Post(h.t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Proof: h.proof, Message: m})
}

// send posts a message that the exchange must accept, and returns the first ack.
func (h *harness) send(actor exchange.Actor, text string) mess.Ack {
	h.t.Helper()
	m, err := h.post(actor, text)
	if err != nil {
		h.t.Fatalf("post by %s of %s: %v", actor.ID, text, err)
	}
	synctest.Wait()
	for _, item := range m.Items {
		if a, ok := item.(*mess.Ack); ok {
			return *a
		}
	}
	h.t.Fatalf("post by %s of %s: no ack in the answer", actor.ID, text)
	return mess.Ack{}
}

// wantError posts a message that the exchange must reject with a code, and with words in the text of
// the error.
func (h *harness) wantError(actor exchange.Actor, text string, code mess.ErrorCode, fragments ...string) *mess.Error {
	h.t.Helper()
	_, err := h.post(actor, text)
	r, ok := errors.AsType[*mess.Error](err)
	if !ok || r.Code != code {
		h.t.Fatalf("post by %s of %s: %v, want the error %s", actor.ID, text, err, code)
	}
	for _, w := range fragments {
		if !strings.Contains(r.Error(), w) {
			h.t.Errorf("post by %s of %s: the error is %q, want %q in it", actor.ID, text, r, w)
		}
	}
	return r
}

// register registers executors that can all do the same and speak MESS 1.1.
func (h *harness) register(actor exchange.Actor, capabilities string) {
	h.t.Helper()
	h.send(actor, "config: {executor: {id: "+actor.ID+", capabilities: ["+capabilities+"], versions: [1.0.0, 1.1.0], holding: []}}")
}

// sendHeartbeats sends heartbeats for a claim of the actor during d, and returns the last ack.
func (h *harness) sendHeartbeats(actor exchange.Actor, ref string, epoch string, d time.Duration) mess.Ack {
	h.t.Helper()
	var ack mess.Ack
	for range d / (10 * time.Second) {
		h.advance(10 * time.Second)
		ack = h.send(actor, "config: {executor: {id: "+actor.ID+", holding: [{ref: "+ref+", epoch: "+epoch+"}]}}")
	}
	return ack
}

func (h *harness) thread(ref string) exchange.Thread {
	h.t.Helper()
	t, err := h.x.Thread(h.t.Context(), person, ref)
	if err != nil {
		h.t.Fatalf("Thread(%s): %v", ref, err)
	}
	return t
}

// wantStatus checks a thread's status.
func (h *harness) wantStatus(ref string, want mess.Code) {
	h.t.Helper()
	if got := h.thread(ref).Status; got != want {
		h.t.Fatalf("%s is %s, want %s", ref, got, want)
	}
}

// lastStatus returns the last status item in a thread.
func (h *harness) lastStatus(ref string) mess.Status {
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

// subscription collects the events that an actor gets.
type subscription struct {
	mu   sync.Mutex
	list []exchange.Event
	stop func()
}

// subscribe follows the exchange as the actor from now on.
func (h *harness) subscribe(actor exchange.Actor, after string) *subscription {
	h.t.Helper()
	e := &subscription{}
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.x.Follow(ctx, actor, after, func(ev exchange.Event) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.list = append(e.list, ev)
			return nil
		}); err != nil {
			h.t.Errorf("Follow: %v", err)
		}
	}()
	e.stop = func() { cancel(); <-done }
	h.subscriptions = append(h.subscriptions, e)
	synctest.Wait()
	return e
}

// events returns the events since the last call, one line for each.
func (e *subscription) events() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, ev := range e.list {
		line := string(ev.Kind) + " " + ev.Thread.Ref
		for _, item := range ev.Message.Items {
			line += " " + string(item.Kind())
			if s, ok := item.(*mess.Status); ok {
				line += ":" + string(s.Code)
			}
		}
		lines = append(lines, line)
	}
	e.list = nil
	return lines
}

// replaceRef puts a thread's ref into a message's text.
func replaceRef(text, ref string) string { return strings.ReplaceAll(text, "{ref}", ref) }
