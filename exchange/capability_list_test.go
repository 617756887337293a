package exchange_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// earlierStore is a store whose feed lacks the capabilities of threads that have ended. It reads
// them when the test says so.
type earlierStore struct {
	*memory.Store
	lacks chan map[string]thread.Subjects
}

func (earlierStore) LacksSubjects() bool { return true }

func (s earlierStore) ReadSubjects(ctx context.Context, fn func(map[string]thread.Subjects)) error {
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

// A list by capability or device that may have ended threads waits a little until the exchange knows
// those of all, and then is an error. Other lists work at once.
func TestListByCapabilityWaitsForEarlierThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := earlierStore{memory.New(), make(chan map[string]thread.Subjects)}
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
		byDevice := func(id string, status ...mess.Code) (int, error) {
			page, err := h.x.List(t.Context(), watcher, exchange.Filter{Device: id, Status: status})
			return len(page.Threads), err
		}
		if n, err := byDevice("kitchen:camera"); !errors.Is(err, mess.Unavailable) {
			t.Errorf("by device: %d, %v; want %v", n, err, mess.Unavailable)
		}
		if n, err := byDevice("kitchen:camera", mess.Pending); err != nil || n != 0 {
			t.Errorf("open threads by device: %d, %v", n, err)
		}
		for _, id := range []string{"camera", ":camera", "kitchen:"} {
			if _, err := byDevice(id); !errors.Is(err, mess.Invalid) {
				t.Errorf("device %q: %v", id, err)
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
			store.lacks <- map[string]thread.Subjects{ended: {Capabilities: []string{"take-photo", "pan"}, Devices: []string{"kitchen:camera"}}}
			store.lacks <- nil // the index has the capabilities, although the store cannot save them
		}()
		for capability, want := range map[string]int{"take-photo": 2, "pan": 1, "none": 0} {
			if refs, err := list(capability); err != nil || len(refs) != want || want > 0 && refs[0] != ended {
				t.Errorf("%s: %v, %v; want %d", capability, refs, err, want)
			}
		}
		for id, want := range map[string]int{"kitchen:camera": 1, "kitchen:door": 0, "garden:camera": 0} {
			if n, err := byDevice(id); err != nil || n != want {
				t.Errorf("%s: %d, %v; want %d", id, n, err, want)
			}
		}
	})
}
