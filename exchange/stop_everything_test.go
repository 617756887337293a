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
