package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// heartbeat posts a registration or heartbeat of an executor, and returns the ack.
func (h *harness) heartbeat(actor exchange.Actor, e mess.Executor) mess.Ack {
	h.t.Helper()
	e.ID = actor.ID
	m := mess.Message{Items: []mess.Item{&mess.Config{Executor: &e}}}
	answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m})
	if err != nil {
		h.t.Fatal(err)
	}
	return *answer.Items[0].(*mess.Ack)
}

var looks = mess.Executor{Capabilities: []mess.Capability{{ID: "look"}}}

// stopReasons are the reasons of some stops.
func stopReasons(stops []mess.Stop) string {
	var list []string
	for _, s := range stops {
		list = append(list, s.Reason+" by "+s.By)
	}
	return strings.Join(list, ", ")
}

// hangingStore is a store whose document writes block after the test closes stuck, until it closes free.
type hangingStore struct {
	exchange.Store
	hanging, free chan struct{}
}

func (s *hangingStore) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	select {
	case <-s.hanging:
		<-s.free
	default:
	}
	return s.Store.Put(ctx, kind, id, doc, after)
}

// The disk hangs: only the senders of orders wait for it. The exchange sends further stops and
// drain orders to the executors before the first one is on the disk, and threads continue.
func TestHangingDiskDelaysOnlySenders(t *testing.T) {
	store := &hangingStore{Store: memory.New()}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		store.hanging, store.free = make(chan struct{}), make(chan struct{})
		h.register(kitchen, "look")
		h.register(garage, "look")
		subs := []*subscription{h.subscribe(kitchen, ""), h.subscribe(garage, "")}
		close(store.hanging)
		var wg sync.WaitGroup
		stop := func(s mess.Stop) {
			wg.Go(func() {
				if _, err := h.x.Stop(h.t.Context(), person, s); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		stop(mess.Stop{Executors: mess.Refs{kitchen.ID}, Reason: "smoke"})
		stop(mess.Stop{Reason: "fire"})
		wg.Go(func() {
			if _, err := h.x.Drain(h.t.Context(), person, mess.DrainOrder{}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { h.heartbeat(kitchen, looks) })
		synctest.Wait()
		for i, want := range []string{"stop  config,stop  config,hold  config", "stop  config,hold  config"} {
			if got := strings.Join(subs[i].events(), ","); got != want {
				t.Errorf("events of executor %d are %q, want %q", i, got, want)
			}
		}
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(agent, "cancel: {re: "+ref+"}")
		h.wantStatus(ref, mess.Cancelled)
		late, cancel := context.WithTimeout(h.t.Context(), time.Second)
		defer cancel()
		if _, err := h.x.Stop(late, person, mess.Stop{}); !errors.Is(err, mess.Unavailable) {
			t.Errorf("a stop that is not on the disk in its time: %v", err)
		}
		close(store.free)
		wg.Wait()
		if doc := storedDocuments(t, store, "stop")[kitchen.ID].Doc; strings.Count(string(doc), `"id"`) != 3 {
			t.Errorf("on the disk: %s", doc)
		}
	})
}

// The acks repeat a stop until its executors have confirmed it, also after a restart of the
// exchange.
func TestStopIsRepeatedUntilConfirmed(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.heartbeat(kitchen, looks)
		h.heartbeat(garage, looks)
		if s := h.heartbeat(kitchen, mess.Executor{Stopped: &mess.StopState{}}).Stops; len(s) != 0 {
			t.Errorf("stops before one: %s", stopReasons(s))
		}
		smoke, err := h.x.Stop(h.t.Context(), agent, mess.Stop{ID: "mine", Reason: "smoke", By: "somebody else"})
		if err != nil || len(smoke.Executors) != 2 || smoke.ID == "mine" {
			t.Fatalf("%+v, %v", smoke, err)
		}
		if _, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: strings.Repeat("ä", 400), Executors: mess.Refs{kitchen.ID}}); err != nil {
			t.Errorf("a long reason: %v", err)
		}
		h.stop()
		h.open(exchange.DefaultConfig())

		if s := h.heartbeat(garage, mess.Executor{}).Stops; stopReasons(s) != "smoke by claude-agent" || s[0].Executors != nil {
			t.Errorf("stops for the garage are %+v", s)
		}
		s := h.heartbeat(kitchen, looks).Stops
		if len(s) != 2 || len(s[1].Reason) > 512 || !strings.HasPrefix(s[1].Reason, "ää") {
			t.Errorf("stops for the kitchen are %s", stopReasons(s))
		}
		left := h.heartbeat(kitchen, mess.Executor{Stopped: &mess.StopState{Orders: mess.Refs{smoke.ID, "older"}, Reason: "smoke"}}).Stops
		if len(left) != 1 || left[0].ID != s[1].ID {
			t.Errorf("stops for the kitchen after that are %s", stopReasons(left))
		}
		h.stop()
		h.open(exchange.DefaultConfig())
		if left := h.heartbeat(kitchen, mess.Executor{}).Stops; len(left) != 1 {
			t.Errorf("stops for the kitchen after a restart are %s", stopReasons(left))
		}
	})
}

// A stop of everything applies to a person with a claim until she confirms it, but not to a person
// without a claim. A stop that names a person always applies to her.
func TestStopAppliesToPeopleWithClaims(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.registerPerson(anna)
		h.registerPerson(ben)
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.send(anna, "status: {re: "+ref+", code: claimed}")
		s, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke"})
		if err != nil || strings.Join(s.Executors, " ") != "ana" {
			t.Fatalf("the stop is for %q, %v", s.Executors, err)
		}
		if got := h.heartbeat(ben, mess.Executor{}).Stops; len(got) != 0 {
			t.Errorf("stops for a person without a task are %s, want none", stopReasons(got))
		}
		if got := h.heartbeat(anna, mess.Executor{}).Stops; len(got) != 1 {
			t.Errorf("stops for a person with a task are %s, want 1", stopReasons(got))
		}
		if got := h.heartbeat(anna, mess.Executor{Stopped: &mess.StopState{Orders: mess.Refs{s.ID}}}).Stops; len(got) != 0 {
			t.Errorf("stops after her confirmation are %s, want none", stopReasons(got))
		}
		if s, err := h.x.Stop(h.t.Context(), person, mess.Stop{Executors: mess.Refs{ben.ID}}); err != nil || len(s.Executors) != 1 {
			t.Errorf("one who is named: %+v, %v", s, err)
		}
	})
}

// A connected executor gets its stop at once, and other actors do not get it. An executor that
// connects later gets its stops first.
func TestStopReachesItsExecutors(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.heartbeat(kitchen, looks)
		h.heartbeat(garage, looks)
		var mu sync.Mutex
		events := map[string]string{}
		follow := func(actor exchange.Actor) {
			ctx, cancel := context.WithCancel(h.t.Context())
			done := make(chan error, 1)
			go func() {
				done <- h.x.Follow(ctx, actor, "", func(e exchange.Event) error {
					if m, ok := e.Delivery(actor.ID); ok && e.Kind == exchange.EventStop {
						mu.Lock()
						defer mu.Unlock()
						events[actor.ID] += m.Items[0].(*mess.Config).Stop.Reason + ";"
					}
					return nil
				})
			}()
			h.subscriptions = append(h.subscriptions, &subscription{stop: func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}})
			synctest.Wait()
		}
		follow(kitchen)
		follow(watcher)
		follow(agent)
		if _, err := h.x.Stop(h.t.Context(), agent, mess.Stop{Reason: "smoke"}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, err := h.x.Stop(h.t.Context(), agent, mess.Stop{Reason: "garage", Executors: mess.Refs{garage.ID}}); err != nil {
			t.Error(err)
		}
		follow(garage)
		mu.Lock()
		defer mu.Unlock()
		if len(events) != 2 || events[kitchen.ID] != "smoke;" || events[garage.ID] != "smoke;garage;" {
			t.Errorf("%v", events)
		}
	})
}

// A stop of everything ends the pending threads for good. A stop of one executor ends no pending
// thread of others.
func TestStopEndsPendingThreads(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.heartbeat(kitchen, looks)
		waits := h.send(agent, "request: {intent: turn on the aquarium, requires: [swim]}").Ref
		if _, err := h.x.Stop(h.t.Context(), agent, mess.Stop{Reason: "the kitchen alone", Executors: mess.Refs{kitchen.ID}}); err != nil {
			t.Fatal(err)
		}
		h.wantStatus(waits, mess.Pending)
		held := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		h.send(kitchen, "status: {re: "+held+", code: claimed}")
		if _, err := h.x.Stop(h.t.Context(), agent, mess.Stop{Reason: "water"}); err != nil {
			t.Fatal(err)
		}
		h.wantStatus(waits, mess.Failed)
		h.wantStatus(held, mess.Claimed)
		if last := h.lastStatus(waits); last.Reason == nil || last.Reason.Effect != mess.EffectNone || !strings.Contains(last.Reason.Detail, "has stopped everything (water) before an executor began") {
			t.Errorf("status is %+v", last)
		}
		h.heartbeat(garage, mess.Executor{Capabilities: []mess.Capability{{ID: "swim"}}})
		h.wantStatus(waits, mess.Failed)
	})
}

// After a stop of everything, a thread that a person can do stays pending for people only, until
// the person delegates it to a robot.
func TestPendingThreadsAfterStopAreForPeople(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.registerPerson(anna)
		ref := h.send(agent, "request: {intent: walk the dog, requires: [walk]}").Ref
		if _, err := h.x.Stop(h.t.Context(), agent, mess.Stop{}); err != nil {
			t.Fatal(err)
		}
		h.wantStatus(ref, mess.Pending)
		if last := h.lastStatus(ref); !strings.Contains(last.Message, "has stopped everything while it waited; only people may still take it") {
			t.Errorf("status is %+v", last)
		}
		h.heartbeat(garage, mess.Executor{Capabilities: []mess.Capability{{ID: "walk"}}})
		h.wantError(garage, "status: {re: "+ref+", code: claimed}", mess.NotFound, "there is no thread")
		h.send(anna, "status: {re: "+ref+", code: claimed}")
		h.send(anna, "status: {re: "+ref+", code: delegated, delegated_to: garage-pi, reason: I am out}")
		h.send(garage, "status: {re: "+ref+", code: claimed}")
	})
}

// fullStore is a store that takes no more documents.
type fullStore struct{ exchange.Store }

func (fullStore) Put(_ context.Context, kind, _ string, _ []byte, _ thread.Rev) (thread.Rev, error) {
	if kind == "stop" {
		return "", fmt.Errorf("write stops: %w", syscall.ENOSPC)
	}
	return "", nil
}

// The disk is full: the executors get the stop, and its sender gets an error, so that it sends the
// stop again.
func TestStopOnFullDiskApplies(t *testing.T) {
	withHarnessOver(t, fullStore{memory.New()}, exchange.DefaultConfig(), func(h *harness) {
		h.heartbeat(kitchen, looks)
		if _, err := h.x.Stop(h.t.Context(), agent, mess.Stop{Reason: "smoke"}); !errors.Is(err, mess.Unavailable) || !strings.Contains(err.Error(), "the exchange has no space left on its disk for this; make room there, and try again") {
			t.Errorf("%v", err)
		}
		if s := h.heartbeat(kitchen, mess.Executor{}).Stops; stopReasons(s) != "smoke by claude-agent" {
			t.Errorf("stops for the kitchen are %s", stopReasons(s))
		}
	})
}

// An unreadable record counts as a stop.
func TestUnreadableStopRecordStops(t *testing.T) {
	store := memory.New()
	overwrite(t, store, "stop", kitchen.ID, "{")
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		if s := h.heartbeat(kitchen, looks).Stops; len(s) != 1 || !strings.Contains(s[0].Reason, "unreadable reason") {
			t.Errorf("stops for the kitchen are %s", stopReasons(s))
		}
	})
}
