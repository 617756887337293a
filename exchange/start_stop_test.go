package exchange_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// slowStart is a store that holds each start back until something has happened.
type slowStart struct {
	exchange.Store
	meanwhile func() // before the write; nil: it holds nothing back
	broken    bool   // reads of documents fail after the write
	written   bool
}

func (s *slowStart) Append(ctx context.Context, step thread.Step) (thread.Rev, error) {
	if s.meanwhile != nil && step.Envelope.Status == mess.InProgress {
		s.meanwhile()
		s.meanwhile, s.written = nil, true
	}
	return s.Store.Append(ctx, step)
}

// sharedSlowStart is a slowStart that several exchanges use.
type sharedSlowStart struct{ *slowStart }

func (sharedSlowStart) Shared() {}

func (s sharedSlowStart) Document(ctx context.Context, kind, id string) ([]byte, error) {
	if s.broken && s.written {
		return nil, errors.New("the server does not answer")
	}
	return s.Store.(thread.DocumentReader).Document(ctx, kind, id)
}

// A start whose write takes long gets no permission if a stop is acknowledged meanwhile, at this exchange
// or at another one. The executor reports that it did nothing. An answer that was lost does not turn into
// a permission when the executor sends its message again.
func TestStopDuringWriteOfStart(t *testing.T) {
	stops := map[string]mess.Stop{"of everything": {Reason: "smoke"}, "of one executor": {Reason: "smoke", Executors: mess.Refs{kitchen.ID}}}
	for name, stop := range stops {
		for where, others := range map[string]bool{"here": false, "at another exchange": true} {
			for _, instance := range []string{"", ", instance: a"} {
				for _, id := range []string{"", "\nid: one"} {
					t.Run(name+" "+where+instance+id, func(t *testing.T) { stopDuringStart(t, stop, others, instance, id) })
				}
			}
		}
	}
}

func stopDuringStart(t *testing.T, stop mess.Stop, others bool, instance, id string) {
	store := sharedStore{memory.New()}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(a *harness) {
		slow := &slowStart{Store: store}
		b := &harness{t: a.t, store: slow}
		if others {
			b.store = sharedSlowStart{slow}
		}
		b.open(exchange.DefaultConfig())
		defer b.stop()
		b.register(kitchen, "look")
		ref := b.send(agent, "request: {intent: look, requires: [look]}").Ref
		b.send(kitchen, "status: {re: "+ref+", code: claimed"+instance+"}")
		slow.meanwhile = func() {
			h := b
			if others {
				h = a
			}
			if _, err := h.x.Stop(h.t.Context(), person, stop); err != nil {
				t.Error(err)
			}
		}
		start := "MESS: [{status: {re: {ref}, code: in_progress" + instance + "}}]" + id
		for range 2 {
			if r := b.wantError(kitchen, replaceRef(start, ref), mess.NotYet, "teague has stopped", "(smoke)", "do not start"); r.Status != mess.InProgress {
				t.Errorf("the error says that the thread is %s", r.Status)
			}
		}
		b.send(kitchen, "status: {re: "+ref+", code: failed, reason: {type: too_late, detail: nothing happened, effect: none}}")
		synctest.Wait()
		b.wantStatus(ref, mess.Failed)
		if reason := b.lastStatus(ref).Reason; reason == nil || reason.Effect != mess.EffectNone {
			t.Errorf("the end is %+v", reason)
		}
	})
}

// An exchange that cannot read the stops before or after the write of a start permits nothing. The executor
// may ask again.
func TestStopsUnreadableAfterStart(t *testing.T) {
	for _, instance := range []string{"", ", instance: a"} {
		t.Run("claim"+instance, func(t *testing.T) {
			slow := sharedSlowStart{&slowStart{Store: memory.New(), broken: true, meanwhile: func() {}}}
			withHarnessOver(t, slow, exchange.DefaultConfig(), func(h *harness) {
				h.register(kitchen, "look")
				ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
				h.send(kitchen, "status: {re: "+ref+", code: claimed"+instance+"}")
				start := "status: {re: " + ref + ", code: in_progress" + instance + "}"
				for range 2 {
					h.wantError(kitchen, start, mess.Unavailable, "try again")
				}
				slow.broken = false
				h.send(kitchen, start)
				h.wantStatus(ref, mess.InProgress)
			})
		})
	}
}
