package exchange_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// slowCreate is a store that has stored a new thread and does not come back yet.
type slowCreate struct {
	exchange.Store
	stored, back chan struct{}
}

func (s *slowCreate) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	rev, err := s.Store.Append(ctx, step)
	if step.After != "" {
		return rev, err
	}
	s.stored <- struct{}{}
	<-s.back
	return rev, err
}

// A client can find a thread by its client id as soon as the store has it. A message to the thread
// before the ack to its sender causes no crash, and the exchange does not lose it.
func TestMessageBeforeAckIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    mess.Code
	}{
		"a note":   {"re: early\nMESS: [{note: {text: hurry}}]", mess.Pending},
		"a cancel": {"cancel: {re: early}", mess.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			store := &slowCreate{Store: memory.New()}
			withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
				store.stored, store.back = make(chan struct{}), make(chan struct{})
				h.register(kitchen, "take-photo")
				executor := h.subscribe(kitchen, "")
				made, sent := make(chan error, 1), make(chan error, 1)
				go func() { _, err := h.post(agent, "request: {id: early, intent: look}"); made <- err }()
				<-store.stored
				go func() { _, err := h.post(agent, c.message); sent <- err }()
				synctest.Wait()
				close(store.back)
				if err := <-made; err != nil {
					t.Errorf("the request: %v", err)
				}
				if err := <-sent; err != nil {
					t.Errorf("error of the message is %v", err)
				}
				synctest.Wait()
				ref := time.Now().Format(time.DateOnly) + "-001-early"
				h.wantStatus(ref, c.want)
				page, err := h.x.List(h.t.Context(), agent, exchange.Filter{Status: []mess.Code{c.want}})
				if err != nil || len(page.Threads) != 1 {
					t.Errorf("listed as %s: %d, %v", c.want, len(page.Threads), err)
				}
				if c.want == mess.Cancelled {
					for _, line := range executor.events()[1:] {
						if line != "withdrawn "+ref+" status:cancelled" {
							t.Errorf("event of a cancelled thread: %s", line)
						}
					}
					h.wantError(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed}}]", mess.IllegalTransition)
				}
			})
		})
	}
}

// A subscriber panics on the first event: its subscription continues with the next event.
func TestPanickingSubscriberContinues(t *testing.T) {
	withHarness(t, func(h *harness) {
		ctx, cancel := context.WithCancel(h.t.Context())
		done := make(chan error, 1)
		var events int
		go func() {
			done <- h.x.Follow(ctx, agent, "", func(exchange.Event) error {
				if events++; events == 1 {
					panic("a mistake")
				}
				return nil
			})
		}()
		synctest.Wait()
		h.send(agent, "request: {intent: one}")
		h.send(agent, "request: {intent: two}")
		cancel()
		if err := <-done; err != nil || events != 2 {
			t.Errorf("%d events, %v, want 2", events, err)
		}
	})
}
