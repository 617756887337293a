package exchange_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// earlierStore is a store whose feed lacks the capabilities of threads that have ended. It reads
// them when the test says so.
type earlierStore struct {
	*memory.Store
	lacks chan map[string][]string
}

func (earlierStore) LacksCapabilities() bool { return true }

func (s earlierStore) ReadCapabilities(ctx context.Context, fn func(map[string][]string)) error {
	for {
		select {
		case of := <-s.lacks:
			if of == nil {
				return errors.New("the disk is full")
			}
			fn(of)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A list by capability that may have ended threads waits a little until the exchange knows all their
// capabilities, and then is an error. Other lists work at once.
func TestListByCapabilityWaitsForEarlierThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := earlierStore{memory.New(), make(chan map[string][]string)}
		h := &harness{t: t, store: store}
		h.open(exchange.DefaultConfig())
		defer h.stop()
		h.register(kitchen, "take-photo")
		open := h.send(agent, "request: {intent: look, requires: [take-photo]}").Ref
		ended := h.send(agent, "request: {intent: look around}").Ref // of an earlier release, as if it lacked its capability
		h.send(kitchen, "status: {re: "+ended+", code: claimed}")
		h.send(kitchen, "response: {re: "+ended+", content: [ok]}")
		list := func(capability string, status ...mess.Code) (refs []string, err error) {
			page, err := h.x.List(t.Context(), watcher, exchange.Filter{Capability: capability, Status: status})
			for _, e := range page.Threads {
				refs = append(refs, e.Ref)
			}
			return refs, err
		}
		for _, status := range [][]mess.Code{nil, {mess.Pending, mess.Completed}} {
			if refs, err := list("take-photo", status...); !errors.Is(err, mess.Unavailable) || refs != nil {
				t.Errorf("%v: %v, %v; want %v", status, refs, err, mess.Unavailable)
			}
		}
		if refs, err := list("take-photo", mess.Pending, mess.InProgress); err != nil || len(refs) != 1 || refs[0] != open {
			t.Errorf("open threads: %v, %v", refs, err)
		}
		if refs, err := list(""); err != nil || len(refs) != 2 {
			t.Errorf("without a capability: %v, %v", refs, err)
		}
		go func() {
			time.Sleep(4 * time.Second)
			store.lacks <- map[string][]string{ended: {"take-photo", "pan"}}
			store.lacks <- nil // the index has the capabilities, although the store cannot save them
		}()
		for capability, want := range map[string]int{"take-photo": 2, "pan": 1, "none": 0} {
			if refs, err := list(capability); err != nil || len(refs) != want || want > 0 && refs[0] != ended {
				t.Errorf("%s: %v, %v; want %d", capability, refs, err, want)
			}
		}
	})
}
