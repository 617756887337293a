package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// channel is the name of the channel that has the inbox.
const channel = "test"

var quiet = slog.New(slog.DiscardHandler)

// disk is a store that stores no more documents of the channel after some writes, as after a kill
// of the program.
type disk struct {
	exchange.Store
	refuses atomic.Value // the name of a document that it does not store; nil: none
	left    atomic.Int64 // writes until then; negative: there is no such moment
	writes  atomic.Int64
}

var errKilled = errors.New("killed")

func (d *disk) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if strings.HasSuffix(kind, channel) {
		if d.left.Load() == 0 {
			return "", errKilled
		}
		if id == d.refuses.Load() {
			return "", errKilled
		}
		d.left.Add(-1)
		d.writes.Add(1)
	}
	return d.Store.Put(ctx, kind, id, doc, after)
}

// harness is a fixture: an exchange with one executor.
type harness struct {
	*testing.T
	x    *exchange.Exchange
	disk *disk
	back atomic.Int64 // step back of the clock

	mu        sync.Mutex
	sent      []string        // requester, and the ref of the message
	rejecting map[string]bool // requesters that take nothing
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{T: t, disk: &disk{Store: memory.New()}, rejecting: map[string]bool{}}
	h.disk.left.Store(-1)
	var err error
	if h.x, err = exchange.Open(t.Context(), exchange.DefaultConfig(), h.disk, h.now, quiet); err != nil {
		t.Fatal(err)
	}
	h.runUntilStopped(h.x.Run)
	h.post("pi", exchange.ExecutorRole, "config: {executor: {id: pi, capabilities: [look]}}")
	return h
}

func (h *harness) now() time.Time { return time.Now().Add(-time.Duration(h.back.Load())).Round(0) }

func (h *harness) runUntilStopped(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.Context()))
	var g sync.WaitGroup
	g.Go(func() {
		if err := run(ctx); err != nil {
			h.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); g.Wait() })
	h.Cleanup(stop)
	return stop
}

func (h *harness) post(actor string, role exchange.Role, text string) mess.Message {
	h.Helper()
	m, err := mess.Parse([]byte(text))
	if err == nil {
		m, err = h.x.Post(h.Context(), exchange.Inbound{Actor: exchange.Actor{ID: actor, Roles: role}, Channel: channel, Message: m})
	}
	if err != nil {
		h.Fatal(err)
	}
	return m
}

// open opens the inbox, as the program does when it starts.
func (h *harness) open() (b *inbox.Inbox, end func()) {
	h.Helper()
	b = inbox.Open(h.x, channel, h.now, quiet)
	return b, h.runUntilStopped(func(ctx context.Context) error {
		b.Run(ctx, h.send)
		return nil
	})
}

func (h *harness) send(ctx context.Context, id string, m mess.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rejecting[id] {
		return errors.New("deaf")
	}
	h.sent = append(h.sent, id+" "+text(m))
	return ctx.Err()
}

// text returns the status and the text of a message of the executor, or its ref.
func text(m mess.Message) string {
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok {
			return strings.TrimSpace(string(s.Code) + " " + s.Message)
		}
	}
	return m.Ref
}

// sentMessages returns the messages that the inbox has sent since the last call.
func (h *harness) sentMessages() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	sent := h.sent
	h.sent = nil
	return sent
}

func (h *harness) want(what string, want ...string) {
	h.Helper()
	if got := h.sentMessages(); !slices.Equal(got, want) {
		h.Errorf("%s: sent %q, want %q", what, got, want)
	}
}

func (h *harness) setRejecting(id string, is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rejecting[id] = is
}

// requestThroughChannel makes a thread of a requester through the channel.
func (h *harness) requestThroughChannel(b *inbox.Inbox, id string) (ref string) {
	h.Helper()
	before := b.Position()
	answer := h.post(id, exchange.Requester, "request: {intent: look, requires: [look]}")
	ref = answer.Items[0].(*mess.Ack).Ref
	if err := b.Add(h.Context(), id, before, []string{ref}); err != nil && !errors.Is(err, mess.Unavailable) {
		h.Fatal(err)
	}
	return ref
}

func (h *harness) claim(ref string) {
	h.Helper()
	h.post("pi", exchange.ExecutorRole, "status: {re: "+ref+", code: claimed}")
}

func (h *harness) reportProgress(ref, text string) {
	h.Helper()
	h.post("pi", exchange.ExecutorRole, "re: "+ref+"\nMESS: [{status: {code: in_progress, message: "+text+"}}]")
}

func (h *harness) complete(ref, text string) {
	h.Helper()
	h.post("pi", exchange.ExecutorRole, "re: "+ref+"\nMESS: [{status: {code: completed, message: "+text+"}}]")
}

func (h *harness) reportAndComplete(ref string) {
	h.reportProgress(ref, "old")
	h.complete(ref, "old")
}
