package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// sharedStore is a memory store that several exchanges use.
type sharedStore struct{ *memory.Store }

func (sharedStore) Shared() {}

// withNodes runs a test in two exchanges over one store, of which the clock of the second one differs by
// ahead.
func withNodes(t *testing.T, ahead time.Duration, test func(a, b *harness)) {
	t.Helper()
	store, cfg := sharedStore{memory.New()}, exchange.DefaultConfig()
	cfg.States = true
	withHarnessOver(t, store, cfg, func(a *harness) {
		b := &harness{t: a.t, store: store, clock: func() time.Time { return time.Now().Add(ahead) }}
		b.open(cfg)
		test(a, b)
		for _, s := range b.subscriptions {
			s.stop()
		}
		b.stop()
	})
}

// An executor that is registered at one exchange gets the requests, stops and drain orders of another
// one. What it confirms and reports is known there.
func TestExecutorOfAnotherExchange(t *testing.T) {
	withNodes(t, 0, func(a, b *harness) {
		b.register(kitchen, "look")
		if e, ok := a.x.Executor(kitchen.ID); !ok || !e.Live {
			t.Fatalf("the other exchange knows it: %v, live: %v", ok, e.Live)
		}
		sub := b.subscribe(kitchen, "")
		ref := a.send(agent, "request: {intent: look, requires: [look]}").Ref
		if got := sub.events(); !slices.Equal(got, []string{"offer " + ref + " request"}) {
			t.Errorf("events are %q, want the offer", got)
		}
		a.send(person, "config: {stop: {why: smoke}}")
		if got := sub.events(); !slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "stop ") }) {
			t.Errorf("events are %q, want the stop", got)
		}
		a.advance(2 * time.Second)
		b.wantStatus(ref, mess.Failed)
		e, _ := b.x.Executor(kitchen.ID)
		if len(e.UnconfirmedStops) != 1 {
			t.Fatalf("%d stops are unconfirmed, want 1", len(e.UnconfirmedStops))
		}
		b.send(kitchen, "config: {executor: {id: kitchen-pi, holding: [], stopped: {orders: ["+e.UnconfirmedStops[0].ID+"], why: smoke}, states: [{device: lamp, state: lit}]}}")
		a.advance(5 * time.Second)
		e, _ = a.x.Executor(kitchen.ID)
		if len(e.UnconfirmedStops) != 0 || e.Stopped == nil || e.Stopped.Reason != "smoke" {
			t.Errorf("after the confirmation %d stops are unconfirmed, and the report is %+v", len(e.UnconfirmedStops), e.Stopped)
		}
		if len(e.States) != 1 || e.States[0].State != "lit" {
			t.Errorf("the other exchange has the states %+v", e.States)
		}
		a.send(person, "config: {hold: {why: cleaning}}")
		if e, _ = b.x.Executor(kitchen.ID); e.DrainReason == "" {
			t.Error("the drain order of the other exchange has no effect")
		}
		b.send(person, "config: {resume: {}}")
		if e, _ = a.x.Executor(kitchen.ID); e.DrainReason != "" {
			t.Errorf("it still has %q", e.DrainReason)
		}
	})
}

// lateStore is a sharedStore that holds the feed of one exchange back, and whose documents may be
// unreadable.
type lateStore struct {
	sharedStore
	held   chan struct{} // the feed waits until it closes; nil: it does not
	broken bool          // reads of documents fail
	reads  atomic.Int64  // of documents
}

func (s *lateStore) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return s.sharedStore.Feed(ctx, after, func(c thread.Change) error {
		if s.held != nil {
			select {
			case <-s.held:
			case <-ctx.Done():
			}
		}
		return fn(c)
	})
}

func (s *lateStore) Document(ctx context.Context, kind, id string) ([]byte, error) {
	s.reads.Add(1)
	if s.broken {
		return nil, errors.New("the server does not answer")
	}
	return s.sharedStore.Document(ctx, kind, id)
}

// An exchange whose feed is behind permits no start after an acknowledged stop at another one, and none if
// it cannot read the stops.
func TestStopBeforeStartAtLateExchange(t *testing.T) {
	for name, stop := range map[string]mess.Stop{"of everything": {Reason: "smoke"}, "of one executor": {Reason: "smoke", Executors: mess.Refs{kitchen.ID}}} {
		t.Run(name, func(t *testing.T) {
			store := sharedStore{memory.New()}
			withHarnessOver(t, store, exchange.DefaultConfig(), func(a *harness) {
				late := &lateStore{sharedStore: store}
				b := &harness{t: a.t, store: late}
				b.open(exchange.DefaultConfig())
				defer b.stop()
				b.register(kitchen, "look")
				claim := func() (start string) {
					ref := b.send(agent, "request: {intent: look, requires: [look]}").Ref
					b.send(kitchen, "status: {re: "+ref+", code: claimed, instance: a}")
					return "status: {re: " + ref + ", code: in_progress, instance: a}"
				}
				running, waiting := claim(), claim()
				before := late.reads.Load()
				b.send(kitchen, running)
				if late.reads.Load() == before {
					t.Error("a start reads no document")
				}
				late.broken = true
				b.wantError(kitchen, waiting, mess.Unavailable, "try again")
				before = late.reads.Load()
				b.send(kitchen, strings.ReplaceAll(running, ", instance: a", ", message: half of it"))
				if late.reads.Load() != before {
					t.Error("a report of progress reads documents")
				}
				late.broken = false
				late.held = make(chan struct{})
				if _, err := a.x.Stop(a.t.Context(), person, stop); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if e, _ := b.x.Executor(kitchen.ID); len(e.UnconfirmedStops) != 0 {
					t.Fatal("the feed of the second exchange is not held back")
				}
				b.wantError(kitchen, waiting, mess.NotYet, "teague has stopped", "(smoke)", "do not start")
				b.wantError(kitchen, running, mess.NotYet, "do not start")
				close(late.held)
				synctest.Wait()
				b.wantError(kitchen, waiting, mess.NotYet, "teague has stopped", "(smoke)", "do not start")
				if e, _ := b.x.Executor(kitchen.ID); len(e.UnconfirmedStops) != 1 {
					t.Errorf("%d stops are unconfirmed after the feed goes on, want 1", len(e.UnconfirmedStops))
				}
			})
		})
	}
}

// An exchange whose feed is behind judges a message by the newest state of the thread, also if it would
// refuse the message.
func TestLateExchangeJudgesNewestState(t *testing.T) {
	const started, yes = "status: {re: REF, code: in_progress, instance: a}", "reply: {re: REF, confirm: true}"
	type post struct {
		from exchange.Actor
		text string
	}
	claim, start := post{kitchen, "status: {re: REF, code: claimed, instance: a}"}, post{kitchen, started}
	ask := post{kitchen, "status: {re: REF, code: needs_confirmation, instance: a, action: open it}"}
	for name, tt := range map[string]struct {
		elsewhere []post
		here      post
		want      mess.Code
		refused   mess.ErrorCode
	}{
		"a start":           {elsewhere: []post{claim}, here: start, want: mess.InProgress},
		"a result":          {elsewhere: []post{claim, start}, here: post{kitchen, "status: {re: REF, code: completed, instance: a}"}, want: mess.Completed},
		"a confirmation":    {elsewhere: []post{claim, ask}, here: post{agent, yes}, want: mess.Claimed},
		"a late claim":      {elsewhere: []post{claim}, here: post{garage, "status: {re: REF, code: claimed, instance: b}"}, want: mess.Claimed, refused: mess.AlreadyClaimed},
		"a repeated cancel": {elsewhere: []post{claim, start, {agent, "cancel: {re: REF}"}}, here: post{agent, "cancel: {re: REF}"}, want: mess.InProgress},
	} {
		t.Run(name, func(t *testing.T) {
			store := sharedStore{memory.New()}
			withHarnessOver(t, store, exchange.DefaultConfig(), func(a *harness) {
				late := &lateStore{sharedStore: store}
				b := &harness{t: a.t, store: late}
				b.open(exchange.DefaultConfig())
				defer b.stop()
				b.register(kitchen, "look")
				b.register(garage, "look")
				ref := b.send(agent, "request: {intent: look, requires: [look]}").Ref
				synctest.Wait()
				late.held = make(chan struct{})
				defer close(late.held)
				for _, p := range tt.elsewhere {
					a.send(p.from, strings.ReplaceAll(p.text, "REF", ref))
				}
				if text := strings.ReplaceAll(tt.here.text, "REF", ref); tt.refused != "" {
					b.wantError(tt.here.from, text, tt.refused)
				} else {
					b.send(tt.here.from, text)
				}
				a.wantStatus(ref, tt.want)
			})
		})
	}
}

// Two exchanges order stops at the same moment. The executor gets both, and each exchange has both.
func TestStopsOfTwoExchanges(t *testing.T) {
	withNodes(t, 0, func(a, b *harness) {
		a.register(kitchen, "look")
		sub := b.subscribe(kitchen, "")
		var both sync.WaitGroup
		for _, h := range []*harness{a, b} {
			both.Go(func() {
				if _, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke"}); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		synctest.Wait()
		if got := sub.events(); len(got) != 2 {
			t.Errorf("events are %q, want two stops", got)
		}
		for _, h := range []*harness{a, b} {
			if e, _ := h.x.Executor(kitchen.ID); len(e.UnconfirmedStops) != 2 {
				t.Errorf("an exchange has %d stops, want 2", len(e.UnconfirmedStops))
			}
		}
		c := &harness{t: a.t, store: a.store}
		c.open(exchange.DefaultConfig())
		defer c.stop()
		if e, _ := c.x.Executor(kitchen.ID); len(e.UnconfirmedStops) != 2 {
			t.Errorf("the store has %d stops, want 2", len(e.UnconfirmedStops))
		}
	})
}

// contactStore is a sharedStore that notes the sizes of the documents about contacts.
type contactStore struct {
	sharedStore
	mu    sync.Mutex
	sizes map[string]int // by id
}

func (s *contactStore) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if kind == "contact" && doc != nil {
		s.mu.Lock()
		s.sizes[id] = len(doc)
		s.mu.Unlock()
	}
	return s.sharedStore.Put(ctx, kind, id, doc, after)
}

// The contacts of many executors to one exchange are in several documents, and the other exchange takes all.
func TestManyContactsAreInSeveralDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("it registers 4,500 executors")
	}
	const many = 4500
	store := &contactStore{sharedStore: sharedStore{memory.New()}, sizes: map[string]int{}}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(a *harness) {
		b := &harness{t: a.t, store: store}
		b.open(exchange.DefaultConfig())
		defer b.stop()
		for i := range many {
			b.send(worker(i), fmt.Sprintf("config: {executor: {id: %s, capabilities: [c%d], versions: [1.1.0], holding: []}}", worker(i).ID, i%100))
		}
		a.advance(time.Minute)
		for i := range many {
			b.send(worker(i), "config: {executor: {id: "+worker(i).ID+", holding: []}}")
		}
		a.advance(6 * time.Second)
		for i := range many {
			if e, ok := a.x.Executor(worker(i).ID); !ok || !e.Live {
				t.Fatalf("the other exchange knows executor %d: %v, live: %v", i, ok, e.Live)
			}
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		if len(store.sizes) != 3 {
			t.Errorf("%d documents, want 3", len(store.sizes))
		}
		for id, size := range store.sizes {
			if size > 512<<10 {
				t.Errorf("the document %s has %d bytes", id, size)
			}
		}
	})
}

// A claim lasts at all exchanges while its executor has contact to one, also if their clocks differ. After
// that the exchanges offer the thread again, and make one step of it.
func TestLeaseAtTwoExchanges(t *testing.T) {
	for _, ahead := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			withNodes(t, ahead, func(a, b *harness) {
				b.register(kitchen, "look")
				ref := a.send(agent, "request: {intent: look, requires: [look]}").Ref
				epoch := b.send(kitchen, "status: {re: "+ref+", code: claimed}").Epoch
				for range 30 {
					b.send(kitchen, fmt.Sprintf("config: {executor: {id: kitchen-pi, holding: [{ref: %s, epoch: %d}]}}", ref, epoch))
					b.advance(10 * time.Second)
				}
				a.wantStatus(ref, mess.Claimed)
				if e, _ := a.x.Executor(kitchen.ID); !e.Live {
					t.Error("the other exchange counts it as silent")
				}
				ver := a.thread(ref).Ver
				a.advance(time.Minute)
				a.wantStatus(ref, mess.Pending)
				b.wantStatus(ref, mess.Pending)
				if got := a.thread(ref).Ver; got != ver+1 {
					t.Errorf("the exchanges have made %d steps after the lease, want 1", got-ver)
				}
			})
		})
	}
}

// Two exchanges with different clocks end an expired request once.
func TestExpiryAtTwoExchanges(t *testing.T) {
	withNodes(t, 2*time.Second, func(a, b *harness) {
		ref := a.send(agent, "request: {intent: look, requires: [look], constraints: {timing: {expires: 1m}}}").Ref
		ver := a.thread(ref).Ver
		watch := b.subscribe(watcher, "")
		a.advance(2 * time.Minute)
		a.wantStatus(ref, mess.Expired)
		if got := b.thread(ref).Ver; got != ver+1 {
			t.Errorf("the exchanges have made %d steps, want 1", got-ver)
		}
		if got := messagesOf(watch.events()); len(got) != 1 {
			t.Errorf("an observer gets %q, want one message", got)
		}
	})
}

// Two exchanges make 200 requests each at the same time. Each request has a ref of its own, with the date.
func TestRefsOfTwoExchanges(t *testing.T) {
	withNodes(t, 0, func(a, b *harness) {
		var mu sync.Mutex
		refs := map[string]bool{}
		var all sync.WaitGroup
		for i := range 400 {
			h := []*harness{a, b}[i%2]
			all.Go(func() {
				answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: agent, Channel: "test", Message: mess.Message{Items: []mess.Item{&mess.Request{Intent: "look"}}}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				refs[answer.Items[0].(*mess.Ack).Ref] = true
			})
		}
		all.Wait()
		if len(refs) != 400 {
			t.Errorf("400 requests have %d refs", len(refs))
		}
		form := regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-\d{3,}$`)
		for ref := range refs {
			if !form.MatchString(ref) {
				t.Errorf("%s is no ref with a date", ref)
			}
		}
	})
}

// An executor that goes on at another exchange gets its orders and offers again, the end of the offers
// that are over, and each message once.
func TestExecutorContinuesAtOtherExchange(t *testing.T) {
	withNodes(t, 0, func(a, b *harness) {
		b.register(garage, "look")
		b.register(kitchen, "look")
		sub := a.subscribe(kitchen, "")
		request := "request: {intent: look, requires: [look]}"
		mine, theirs, open := a.send(agent, request).Ref, a.send(agent, request).Ref, a.send(agent, request).Ref
		a.send(kitchen, "status: {re: "+mine+", code: claimed}")
		sub.mu.Lock()
		last := sub.list[len(sub.list)-1].ID
		sub.mu.Unlock()
		sub.stop()
		b.send(garage, "status: {re: "+theirs+", code: claimed}")
		later := b.send(agent, request).Ref
		a.send(agent, "cancel: {re: "+mine+"}")
		a.send(person, "config: {hold: {why: cleaning, executors: [kitchen-pi]}}")
		got := b.subscribe(kitchen, last)
		events := got.events()
		var messages []string
		for _, e := range events {
			switch {
			case strings.HasPrefix(e, "reset"):
				t.Errorf("it begins anew: %q", events)
			case strings.HasPrefix(e, "message"):
				messages = append(messages, e)
			}
		}
		if want := []string{"message " + mine + " cancel", "message " + mine + " status:cancelled"}; !slices.Equal(messages, want) && !slices.Equal(messages, want[:1]) {
			t.Errorf("the messages are %q, want %q", messages, want)
		}
		for _, want := range []string{"withdrawn " + theirs + " status:claimed", "hold  config"} {
			if !slices.Contains(events, want) {
				t.Errorf("the events are %q, want %q too", events, want)
			}
		}
		for _, ref := range []string{open, later} { // a drained executor has no offers
			if slices.Contains(events, "offer "+ref+" request") {
				t.Errorf("the events are %q, with an offer of %s", events, ref)
			}
		}
		b.send(person, "config: {resume: {executors: [kitchen-pi]}}")
		again := got.events()
		for _, ref := range []string{open, later} {
			if !slices.Contains(again, "offer "+ref+" request") {
				t.Errorf("then the events are %q, without an offer of %s", again, ref)
			}
		}
	})
}

// archivesAtOnce is a store whose threads leave the feed for an archive when they end.
type archivesAtOnce struct{ sharedStore }

func (s archivesAtOnce) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return s.sharedStore.Feed(ctx, after, func(c thread.Change) error {
		if c.Envelope.Status.Terminal() {
			c.Messages, c.Removed = nil, true
		}
		return fn(c)
	})
}

// A thread ends at one exchange, and leaves the stream before another one has read the last steps. The other
// one does not have the thread open any more, nor in a list or as an offer, and still reads it.
func TestThreadIsArchivedBeforeItsEndIsRead(t *testing.T) {
	store, cfg := sharedStore{memory.New()}, exchange.DefaultConfig()
	withHarnessOver(t, store, cfg, func(a *harness) {
		b := &harness{t: a.t, store: archivesAtOnce{store}, clock: time.Now}
		b.open(cfg)
		defer b.stop()
		b.register(kitchen, "look")
		ref := a.send(agent, "request: {intent: look, requires: [look]}").Ref
		other := a.send(agent, "request: {id: second, intent: look, requires: [look], constraints: {depends_on: ["+ref+"]}}").Ref
		a.advance(time.Second)
		if n := b.x.OpenByStatus()[mess.Pending]; n != 2 {
			t.Fatalf("%d threads are open at the other exchange", n)
		}
		a.send(agent, "cancel: {re: "+ref+"}")
		a.advance(time.Second)
		if n := b.x.OpenByStatus()[mess.Pending]; n > 1 {
			t.Errorf("%d threads are open at the other exchange: %v", n, b.x.OpenByStatus())
		}
		page, err := b.x.List(t.Context(), agent, exchange.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Threads {
			if e.Ref == ref {
				t.Errorf("the list has %s", ref)
			}
		}
		if th, err := b.x.Thread(t.Context(), agent, ref); err != nil || !th.Status.Terminal() {
			t.Errorf("%s: %s, %v", ref, th.Status, err)
		}
		if refs := b.x.EndedBefore(time.Now().Add(time.Hour), 10); slices.Contains(refs, ref) {
			t.Errorf("the archive would get %v again", refs)
		}
		if refs := a.x.EndedBefore(time.Now().Add(time.Hour), 10); !slices.Contains(refs, ref) || slices.Contains(refs, other) && a.x.OpenByStatus()[mess.Pending] > 0 {
			t.Errorf("old threads are %v, want %s among them", refs, ref)
		}
		if refs := a.x.EndedBefore(time.Now().Add(-time.Hour), 10); len(refs) != 0 {
			t.Errorf("threads that ended an hour ago are %v", refs)
		}
	})
}

// damagedStore is a store with an unreadable record of one thread.
type damagedStore struct {
	sharedStore
	ref atomic.Pointer[string]
}

func (s *damagedStore) Append(ctx context.Context, step thread.Step) (thread.Rev, error) {
	if ref := s.ref.Load(); ref != nil && *ref == step.Envelope.Ref {
		return "", &thread.DamagedError{Ref: *ref, Sequence: 7}
	}
	return s.sharedStore.Append(ctx, step)
}

// A thread with an unreadable record in the store refuses a claim with a clear error. Others go on.
func TestDamagedThreadRefusesSteps(t *testing.T) {
	store := &damagedStore{sharedStore: sharedStore{memory.New()}}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "look")
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		other := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		store.ref.Store(&ref)
		h.wantError(kitchen, "{re: "+ref+", MESS: [{status: {code: claimed}}]}", mess.Unavailable, ref, "unreadable", "messkit status")
		h.wantError(agent, "cancel: {re: "+ref+"}", mess.Unavailable, "unreadable")
		h.wantStatus(ref, mess.Pending)
		h.send(kitchen, "{re: "+other+", MESS: [{status: {code: claimed}}]}")
		h.wantStatus(other, mess.Claimed)
	})
}
