package inbox_test

import (
	"context"
	"errors"
	"fmt"
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
	b, err := inbox.Open(h.Context(), h.x, channel, h.now, quiet)
	if err != nil {
		h.Fatal(err)
	}
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

func TestRequestersGetMessagesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		mine, yours := h.requestThroughChannel(b, "me"), h.requestThroughChannel(b, "you")
		h.claim(mine)
		h.reportProgress(mine, "one")
		h.want("at once", "me claimed", "me in_progress one")
		h.setRejecting("you", true)
		h.claim(yours)
		h.reportProgress(mine, "two")
		h.want("while another does not listen", "me in_progress two")
		time.Sleep(time.Minute)
		h.want("later")
		h.setRejecting("you", false)
		time.Sleep(time.Minute)
		h.want("when it listens again", "you claimed")
		end()
		h.reportProgress(mine, "three")
		h.reportProgress(yours, "four")
		_, end = h.open()
		if got := h.sentMessages(); len(got) != 2 || !slices.Contains(got, "me in_progress three") || !slices.Contains(got, "you in_progress four") {
			t.Errorf("after a restart: %q", got)
		}
		end()
	})
}

// A requester that asks through another channel gets the messages after its first message on this
// channel.
func TestThreadOfOtherChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, _ := h.open()
		ref := h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		other := h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		h.claim(ref)
		h.claim(other)
		h.want("before it speaks here")
		before := b.Position()
		ack := h.post("me", exchange.Requester, "cancel: {re: "+ref+"}").Items[0].(*mess.Ack)
		if err := b.Add(t.Context(), "me", before, []string{ack.Ref}); err != nil {
			t.Fatal(err)
		}
		h.reportProgress(other, "on")
		for _, one := range h.sentMessages() {
			if strings.HasSuffix(one, "claimed") {
				t.Errorf("%q is older", one)
			}
		}
	})
}

// One requester accepts nothing: after a restart, the others get no message again, and that one
// gets only its missing messages. A step back of the clock changes nothing.
func TestDelayedRequesterGetsMissingMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		yours := h.requestThroughChannel(b, "you")
		h.claim(yours)
		h.want("first", "you claimed")
		h.setRejecting("you", true)
		h.reportProgress(yours, "missed")
		var refs []string
		for i := range 3 {
			refs = append(refs, h.requestThroughChannel(b, fmt.Sprint("me", i)))
			h.claim(refs[i])
			h.reportProgress(refs[i], "on")
			h.complete(refs[i], "done")
			time.Sleep(time.Minute) // it is stored
		}
		if got := h.sentMessages(); len(got) != 9 {
			t.Errorf("sent: %q", got)
		}
		for range 2 {
			end()
			h.back.Add(int64(time.Hour))
			_, end = h.open()
			time.Sleep(time.Minute)
			h.want("after a restart")
		}
		h.setRejecting("you", false)
		time.Sleep(time.Minute)
		h.want("when it listens", "you in_progress missed")
		end()
		_, end = h.open()
		time.Sleep(time.Minute)
		h.want("after all")
		end()
	})
}

// The program ends at each write: the inbox sends every message at least once.
func TestKillAtEachWriteLosesNothing(t *testing.T) {
	for left := range int64(100) {
		over := false
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t)
			h.disk.left.Store(left)
			b, end := h.open()
			var got []string
			refs := map[string]string{}
			for i := range 3 {
				id := fmt.Sprint("r", i)
				refs[id] = h.requestThroughChannel(b, id)
				h.claim(refs[id])
				time.Sleep(6 * time.Second)
				h.setRejecting("r1", true)
			}
			for id, ref := range refs {
				h.reportProgress(ref, "for "+id)
			}
			time.Sleep(6 * time.Second)
			got = append(got, h.sentMessages()...)
			over = h.disk.left.Load() > 0
			end()
			h.disk.left.Store(-1)
			for id, ref := range refs {
				h.complete(ref, "of "+id)
			}
			h.setRejecting("r1", false)
			b, end = h.open()
			for id := range refs { // a requester without an ack repeats its request
				if err := b.Add(t.Context(), id, "", []string{refs[id]}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			got = append(got, h.sentMessages()...)
			for id := range refs {
				for _, want := range []string{"claimed", "in_progress for " + id, "completed of " + id} {
					if !slices.Contains(got, id+" "+want) {
						t.Errorf("killed after %d writes: %q was not sent; sent %q", left, id+" "+want, got)
					}
				}
			}
			end()
		})
		if over || t.Failed() {
			if left < 5 {
				t.Errorf("only %d writes", left)
			}
			return
		}
	}
	t.Error("there is no end of writes")
}

// The store fails to store a requester that is behind: it gets no common position that passes the
// requester, so after a crash the requester gets its messages.
func TestRequestersAreStoredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		yours, mine := h.requestThroughChannel(b, "you"), h.requestThroughChannel(b, "me")
		h.claim(mine)
		h.claim(yours)
		h.sentMessages()
		time.Sleep(time.Minute)
		h.setRejecting("you", true)
		h.disk.refuses.Store("asker.you")
		h.reportProgress(yours, "for you")
		h.reportProgress(mine, "for me")
		time.Sleep(time.Minute)
		h.want("while one does not listen", "me in_progress for me")
		end()
		h.disk.refuses.Store("")
		h.setRejecting("you", false)
		_, end = h.open()
		if got := h.sentMessages(); !slices.Contains(got, "you in_progress for you") {
			t.Errorf("after a crash: %q", got)
		}
		end()
	})
}

// An earlier version has stored times. Nothing older comes again.
func TestUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		asks := func() string {
			return h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		}
		old, known, open := asks(), asks(), asks()
		h.claim(old)
		h.reportAndComplete(old)
		h.claim(known)
		h.claim(open)
		th, err := h.x.Thread(t.Context(), exchange.Actor{ID: "me", Roles: exchange.Requester}, known)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		doc := fmt.Sprintf(`{"at":%q,"told":[{"ref":%q,"serial":%d}]}`, h.now().Format(time.RFC3339Nano), known, th.Serial)
		if err := h.x.SaveChannelState(t.Context(), channel, "asker.me", []byte(doc)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		h.reportProgress(known, "one")
		h.reportProgress(open, "two")
		b, end := h.open()
		if n := b.Requesters(); n != 1 {
			t.Errorf("%d requesters", n)
		}
		h.want("after the upgrade", "me in_progress one", "me in_progress two")
		h.back.Store(int64(time.Hour))
		h.reportProgress(open, "three")
		h.want("and then", "me in_progress three")
		end()
		_, end = h.open()
		h.want("later")
		end()
	})
}

func (h *harness) reportAndComplete(ref string) {
	h.reportProgress(ref, "old")
	h.complete(ref, "old")
}

// The inbox removes a requester after seven silent days without an open thread, and not before.
func TestSilentRequesterIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		h.requestThroughChannel(b, "waits")
		done := h.requestThroughChannel(b, "done")
		h.claim(done)
		h.reportAndComplete(done)
		time.Sleep(8 * 24 * time.Hour)
		h.sentMessages()
		if n := b.Requesters(); n != 1 {
			t.Errorf("%d requesters, want 1", n)
		}
		end()
		b, end = h.open()
		if n := b.Requesters(); n != 1 {
			t.Errorf("%d requesters after a restart, want 1", n)
		}
		end()
	})
}

// An inbox for which nothing comes writes nothing.
func TestIdleInboxWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, _ := h.open()
		ref := h.requestThroughChannel(b, "me")
		time.Sleep(time.Minute)
		before := h.disk.writes.Load()
		ask := "request: {intent: look, requires: [look]}"
		h.post("other", exchange.Requester, ask)
		time.Sleep(time.Hour)
		if n := h.disk.writes.Load() - before; n != 0 {
			t.Errorf("%d writes for nobody", n)
		}
		h.claim(ref)
		time.Sleep(time.Minute)
		if n := h.disk.writes.Load() - before; n != 2 { // the requester and the position
			t.Errorf("%d writes, want 2", n)
		}
	})
}

// A channel that looks at its threads once it follows misses nothing.
func TestFollowMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		ask := func() string {
			return h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		}
		before := ask()
		synctest.Wait()
		var mu sync.Mutex
		changed := map[string]int{}
		during := ""
		h.runUntilStopped(func(ctx context.Context) error {
			inbox.Follow(ctx, h.x, quiet, func() { during = ask(); h.claim(during); time.Sleep(time.Second) }, func(e thread.Envelope) {
				mu.Lock()
				defer mu.Unlock()
				changed[e.Ref]++
			})
			return nil
		})
		time.Sleep(time.Minute)
		after := ask()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if changed[before] != 0 || changed[during] != 2 || changed[after] != 1 {
			t.Errorf("%v", changed)
		}
	})
}
