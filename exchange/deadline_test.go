package exchange_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// failingStore fails one step when the test lets it.
type failingStore struct {
	exchange.Store
	fails       atomic.Bool // the next step
	begun, fail chan struct{}
}

func (s *failingStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if !s.fails.CompareAndSwap(true, false) {
		return s.Store.Append(ctx, step)
	}
	s.begun <- struct{}{}
	<-s.fail
	return "", errors.New("the disk fails")
}

// An executor misses the deadline of its claim, and its heartbeat arrives while the exchange waits
// for a slow step of the same thread. The claim keeps a deadline: a later silence still ends it.
func TestLateHeartbeatKeepsDeadline(t *testing.T) {
	store := &failingStore{Store: memory.New()}
	cfg := exchange.DefaultConfig()
	withHarnessOver(t, store, cfg, func(h *harness) {
		store.begun, store.fail = make(chan struct{}), make(chan struct{})
		h.stop()
		var reads atomic.Int64 // of the clock
		h.clock = func() time.Time { reads.Add(1); return time.Now() }
		h.open(cfg)
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.advance(cfg.Lease - time.Second)

		store.fails.Store(true)
		noted := make(chan error, 1)
		go func() { _, err := h.post(agent, "re: "+ref+"\nMESS: [{note: {text: hurry}}]"); noted <- err }()
		<-store.begun
		reads.Store(0)
		time.Sleep(time.Second)
		// The exchange has found the claim overdue once it no longer reads the clock. It waits for a
		// mutex then, so synctest.Wait would not return.
		for i, same, last := 0, 0, int64(0); i < 10_000_000 && same < 20_000; i, same = i+1, same+1 {
			runtime.Gosched()
			if n := reads.Load(); n != last || n < 3 {
				same, last = 0, n
			}
		}
		if _, err := h.post(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+ref+", epoch: 1}]}}"); err != nil {
			t.Fatal(err)
		}
		close(store.fail)
		if err := <-noted; !errors.Is(err, mess.Unavailable) {
			t.Errorf("error of the note is %v, want %s", err, mess.Unavailable)
		}
		synctest.Wait()
		h.wantStatus(ref, mess.Claimed)
		h.advance(cfg.Lease + 2*time.Second)
		h.wantStatus(ref, mess.Pending)
	})
}
