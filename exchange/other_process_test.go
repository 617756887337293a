package exchange_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	"github.com/messkit/messkit/mess/messeaf"
)

// heldFeed is a store whose feed can be late. It can also leave out the messages of steps, as the
// feed of a follower does that is far behind.
type heldFeed struct {
	exchange.Store
	outline bool
	gate    atomic.Pointer[chan struct{}] // closed when the feed goes on; nil: it is not held
	delay   func()                        // before each change; nil for none
}

func (s *heldFeed) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return s.Store.Feed(ctx, after, func(c thread.Change) error {
		if s.delay != nil {
			s.delay()
		}
		if gate := s.gate.Load(); gate != nil {
			<-*gate
		}
		if s.outline {
			c.Messages = nil
		}
		return fn(c)
	})
}

// withTwo runs a test in two exchanges over one memory store.
func withTwo(t *testing.T, test func(a, b *harness, held *heldFeed)) {
	t.Helper()
	store := memory.New()
	withHarnessOver(t, store, exchange.DefaultConfig(), func(a *harness) {
		held := &heldFeed{Store: store}
		b := &harness{t: a.t, store: held}
		b.open(exchange.DefaultConfig())
		for _, h := range []*harness{a, b} {
			h.register(kitchen, "x")
		}
		test(a, b, held)
		for _, s := range b.subscriptions {
			s.stop()
		}
		b.stop()
	})
}

// messagesOf returns the message events of a list.
func messagesOf(events []string) (some []string) {
	for _, e := range events {
		if strings.HasPrefix(e, "message ") {
			some = append(some, e)
		}
	}
	return some
}

func wantEvents(t *testing.T, who string, got, want []string) {
	t.Helper()
	if got = messagesOf(got); !slices.Equal(got, want) {
		t.Errorf("%s gets\n  %s\nwant\n  %s", who, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Two exchanges share a store. The subscribers of each get the steps of both, once each.
func TestStepsOfAnotherProcessArePublished(t *testing.T) {
	for name, outline := range map[string]bool{"with the messages in the feed": false, "without the messages in the feed": true} {
		t.Run(name, func(t *testing.T) {
			withTwo(t, func(a, b *harness, held *heldFeed) {
				held.outline = outline
				here, there := a.subscribe(watcher, ""), b.subscribe(watcher, "")
				requester, executor := b.subscribe(agent, ""), b.subscribe(kitchen, "")
				ref := a.send(agent, "request: {intent: look, requires: [x]}").Ref
				if got := executor.events(); !slices.Equal(got, []string{"offer " + ref + " request"}) {
					t.Errorf("the executor at the other exchange gets %q, want an offer", got)
				}
				a.send(kitchen, "status: {re: "+ref+", code: claimed}")
				b.send(kitchen, "status: {re: "+ref+", code: in_progress, epoch: 1}")
				b.send(kitchen, "status: {re: "+ref+", code: in_progress, progress_pct: 5}")
				a.send(kitchen, "status: {re: "+ref+", code: completed}")
				message := "message " + ref + " "
				want := []string{message + "request", message + "status:claimed", message + "status:in_progress", message + "status:in_progress", message + "status:completed"}
				wantEvents(t, "an observer here", here.events(), want)
				wantEvents(t, "an observer there", there.events(), want)
				wantEvents(t, "the requester there", requester.events(), want)
			})
		})
	}
}

// slowAnswer is a store whose feed delivers a step before Append returns.
type slowAnswer struct{ exchange.Store }

func (s slowAnswer) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	rev, err := s.Store.Append(ctx, step)
	time.Sleep(time.Millisecond)
	return rev, err
}

// The feed delivers the own steps of an exchange before the store has acknowledged them. Subscribers
// get them once.
func TestOwnStepsInTheFeedArePublishedOnce(t *testing.T) {
	withHarnessOver(t, slowAnswer{memory.New()}, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "x")
		sub := h.subscribe(watcher, "")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: completed}")
		message := "message " + ref + " "
		wantEvents(t, "an observer", sub.events(), []string{message + "request", message + "status:claimed", message + "status:completed"})
	})
}

// An exchange reads a thread that another process has changed, and makes a step, before the feed has
// delivered the change. Its subscribers get all steps, in order.
func TestOwnStepWaitsForEarlierSteps(t *testing.T) {
	withTwo(t, func(a, b *harness, held *heldFeed) {
		there := b.subscribe(watcher, "")
		changed := a.send(agent, "request: {intent: look}").Ref
		gate := make(chan struct{})
		held.gate.Store(&gate)
		a.send(kitchen, "status: {re: "+changed+", code: claimed}")
		unknown := a.send(agent, "request: {intent: look}").Ref
		b.send(agent, "cancel: {re: "+changed+"}")
		b.send(agent, "cancel: {re: "+unknown+"}")
		a.send(agent, "request: {intent: look}") // its serial is the next one
		close(gate)
		synctest.Wait()
		last := a.send(agent, "request: {intent: look}").Ref
		got := messagesOf(there.events())
		for ref, want := range map[string][]string{
			changed: {"request", "status:claimed", "cancel"}, unknown: {"request", "cancel"}, last: {"request"},
		} {
			var items []string
			for _, e := range got {
				if item, ok := strings.CutPrefix(e, "message "+ref+" "); ok {
					items = append(items, item)
				}
			}
			if len(items) < len(want) || !slices.Equal(items[:len(want)], want) {
				t.Errorf("%s: %q, want %q first", ref, items, want)
			}
		}
	})
}

// A rejected message of another program stays in the thread as evidence. No exchange publishes it.
func TestRejectedMessageIsNotPublished(t *testing.T) {
	withTwo(t, func(a, b *harness, held *heldFeed) {
		ref := a.send(agent, "request: {intent: look}").Ref
		here, there := a.subscribe(watcher, ""), b.subscribe(watcher, "")
		m, err := mess.Parse([]byte("from: stranger\nre: " + ref + "\nMESS: [{status: {code: completed}}]"))
		if err != nil {
			t.Fatal(err)
		}
		m.From = stranger.ID
		for _, outline := range []bool{false, true} {
			held.outline = outline
			if err := a.x.PostExternal(t.Context(), ref, m); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if n := len(a.thread(ref).Messages); n != 6 {
			t.Errorf("the thread has %d messages, want 6", n)
		}
		wantEvents(t, "an observer here", here.events(), nil)
		wantEvents(t, "an observer there", there.events(), nil)
	})
}

// Two exchanges make steps of the same threads at random times, and the feed of one is late. Each
// subscriber gets each message of each thread once, in the order of the thread.
func TestStepsOfTwoProcessesComeOnceInOrder(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			withTwo(t, func(a, b *harness, held *heldFeed) {
				r := rand.New(rand.NewPCG(seed, 7))
				held.delay = func() { time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond) }
				held.outline = seed%2 == 1
				subscribers := []*subscription{a.subscribe(watcher, ""), b.subscribe(watcher, "")}
				var refs []string
				for i := range 4 {
					refs = append(refs, []*harness{a, b}[i%2].send(agent, "request: {intent: look}").Ref)
				}
				var all sync.WaitGroup
				for i, h := range []*harness{a, b} {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					all.Go(func() {
						for n := range 30 {
							time.Sleep(time.Duration(r.IntN(4)) * time.Millisecond)
							ref := refs[r.IntN(len(refs))]
							text := []string{
								"status: {re: " + ref + ", code: claimed}", "status: {re: " + ref + ", code: in_progress, progress_pct: " + fmt.Sprint(n) + "}",
								"status: {re: " + ref + ", code: completed}",
							}[pick(r)]
							_, _ = h.post(kitchen, text) // the rules reject some
						}
					})
				}
				all.Wait()
				time.Sleep(time.Second)
				synctest.Wait()
				for i, s := range subscribers {
					for _, ref := range refs {
						var got, want []string
						for _, e := range s.list {
							if e.Kind == exchange.EventMessage && e.Thread.Ref == ref {
								got = append(got, e.Message.Ref)
							}
						}
						for _, m := range a.thread(ref).Messages {
							if !messeaf.IsAck(m) {
								want = append(want, m.Ref)
							}
						}
						if !slices.Equal(got, want) {
							t.Errorf("subscriber %d gets of %s\n  %q\nwant\n  %q", i, ref, got, want)
						}
					}
				}
			})
		})
	}
}

// pick picks a step: mostly progress, seldom the end.
func pick(r *rand.Rand) int {
	switch n := r.IntN(20); {
	case n < 6:
		return 0
	case n < 19:
		return 1
	}
	return 2
}
