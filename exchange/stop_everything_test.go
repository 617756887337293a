package exchange_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// slowStore takes a second for each step of a thread, one after the other.
type slowStore struct {
	exchange.Store
	turn chan struct{} // nil: it is quick
}

func (s *slowStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if step.After == "" {
		return s.Store.Append(ctx, step)
	}
	if s.turn != nil {
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		time.Sleep(time.Second) // fake time
		defer func() { <-s.turn }()
	}
	return s.Store.Append(ctx, step)
}

// A stop of everything applies at once, even if a slow disk delays the end of the pending threads.
// The answer has the number of threads that have not ended yet.
func TestStopOfEverythingAppliesAtOnce(t *testing.T) {
	for name, restarts := range map[string]bool{"at once": false, "over a restart": true} {
		t.Run(name, func(t *testing.T) {
			disk := &slowStore{Store: memory.New()}
			withHarnessOver(t, disk, exchange.DefaultConfig(), func(h *harness) {
				const n = 40
				var refs []string
				for range n {
					refs = append(refs, h.send(agent, "request: {intent: swim, requires: [swim]}").Ref)
				}
				disk.turn = make(chan struct{}, 1)
				ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Second)
				defer cancel()
				s, err := h.x.Stop(ctx, person, mess.Stop{Reason: "smoke"})
				if err != nil || s.Ending == 0 || s.Ending > n {
					t.Fatalf("%d still end, %v", s.Ending, err)
				}
				if restarts {
					h.advance(3 * time.Second)
					h.stop()
					h.open(exchange.DefaultConfig())
				}
				h.register(garage, "swim")
				sub := h.subscribe(garage, "")
				if _, err := h.x.Thread(h.t.Context(), garage, refs[n-1]); !errors.Is(err, mess.NotFound) {
					t.Errorf("a new executor may read what was stopped: %v", err)
				}
				fresh := h.send(agent, "request: {intent: swim later, requires: [swim]}").Ref
				h.advance(2 * time.Minute)
				for _, ref := range refs {
					h.wantStatus(ref, mess.Failed)
					if s := h.lastStatus(ref); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "smoke") {
						t.Fatalf("%s ended for %+v", ref, s.Reason)
					}
				}
				if got := sub.events(); len(got) != 1 || got[0] != "offer "+fresh+" request" {
					t.Errorf("events of a new executor are %q, want the new request alone", got)
				}
			})
		})
	}
}

// A thread with a claim from before a stop of everything gets no start permission, even if its
// executor did not get the stop. A later request does.
func TestStopOfEverythingPreventsStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		claim := func() string {
			ref := h.send(agent, "request: {intent: look}").Ref
			h.send(kitchen, "status: {re: "+ref+", code: claimed, instance: a}")
			return ref
		}
		ref := claim()
		if _, err := h.x.Stop(h.t.Context(), person, mess.Stop{}); err != nil {
			t.Fatal(err)
		}
		h.wantError(kitchen, "status: {re: "+ref+", code: in_progress, instance: a}", mess.NotYet, "has stopped everything")
		h.advance(2 * time.Minute) // no heartbeat extends the lease
		h.wantStatus(ref, mess.Failed)
		ref = claim()
		h.send(kitchen, "status: {re: "+ref+", code: in_progress, instance: a}")
	})
}

// An executor that a stop names gets no start permission until it has confirmed the stop, also for a
// later request and over its registration and a restart of the exchange. Other executors do.
func TestStopOfNamedExecutorPreventsStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		h.register(garage, "swim")
		claim := func(actor exchange.Actor, can string) string {
			ref := h.send(agent, "request: {intent: go, requires: ["+can+"]}").Ref
			h.send(actor, "status: {re: "+ref+", code: claimed, instance: a}")
			return ref
		}
		start := func(ref string) string { return "status: {re: " + ref + ", code: in_progress, instance: a}" }
		before, running, others := claim(kitchen, "look"), claim(kitchen, "look"), claim(garage, "swim")
		h.send(kitchen, start(running))
		for range 20 { // more than an executor keeps
			if _, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "fire"}); err != nil {
				t.Fatal(err)
			}
		}
		between := claim(garage, "swim")
		s, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke", Executors: mess.Refs{kitchen.ID}})
		if err != nil {
			t.Fatal(err)
		}
		after := claim(kitchen, "look")
		refused := func() {
			t.Helper()
			h.wantError(kitchen, start(before), mess.NotYet, "stopped everything (fire); do not start")
			h.wantError(kitchen, start(running), mess.NotYet, "do not start")
			h.wantError(kitchen, start(after), mess.NotYet, "teague has stopped kitchen-pi, which has not confirmed it (smoke); do not start")
		}
		refused()
		h.wantError(garage, start(others), mess.NotYet, "stopped everything")
		h.send(garage, start(between))
		h.register(kitchen, "look")
		refused()
		h.stop()
		h.open(exchange.DefaultConfig())
		refused()
		h.send(kitchen, "status: {re: "+running+", code: in_progress, message: the arm stands still}") // a report asks for nothing
		h.heartbeat(kitchen, mess.Executor{Stopped: &mess.StopState{Orders: mess.Refs{s.ID}, Reason: "smoke"}})
		h.heartbeat(kitchen, mess.Executor{Stopped: &mess.StopState{Orders: mess.Refs{s.ID}}})
		h.send(kitchen, start(after))
	})
}

// An unreadable record of a stop counts as a stop of the pending threads.
func TestUnreadableStopRecordStopsPendingThreads(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(agent, "request: {intent: look}").Ref
		overwrite(t, h.store, "stopped", "all", "{")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.advance(time.Second)
		h.wantStatus(ref, mess.Failed)
		h.register(kitchen, "look")
		ref = h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
	})
}

// storedDocuments are the documents of a kind.
func storedDocuments(t *testing.T, s exchange.Store, kind string) map[string]thread.Change {
	t.Helper()
	docs := map[string]thread.Change{}
	level := errors.New("level")
	err := s.Feed(t.Context(), "", func(c thread.Change) error {
		switch {
		case c.Level:
			return level
		case c.Kind == kind:
			docs[c.ID] = c
		}
		return nil
	})
	if !errors.Is(err, level) {
		t.Fatal(err)
	}
	return docs
}

// overwrite stores a document, and replaces one of the same kind and id.
func overwrite(t *testing.T, s exchange.Store, kind, id, doc string) {
	t.Helper()
	if _, err := s.Put(t.Context(), kind, id, []byte(doc), storedDocuments(t, s, kind)[id].Rev); err != nil {
		t.Fatal(err)
	}
}
