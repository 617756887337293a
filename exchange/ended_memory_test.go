package exchange_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// The exchange stores a thread in another form long after its end: Thread and List return the same
// values.
func TestEndedThreadKeepsItsValues(t *testing.T) {
	store := memory.New()
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		h.register(kitchen, "take-photo")
		h.register(garage, "take-photo")
		var first string
		var was exchange.Thread
		for i := range 300 {
			ref := h.send(agent, "request: {intent: look, requires: [take-photo], context: [{x: [1, é]}]}").Ref
			if i == 0 { // two executors claim it, one after the other
				h.send(garage, "status: {re: "+ref+", code: claimed}")
				h.send(garage, "status: {re: "+ref+", code: delegated, reason: {type: busy}}")
			}
			h.send(kitchen, "status: {re: "+ref+", code: claimed}")
			h.send(kitchen, "response: {re: "+ref+", content: [ok]}")
			if i > 0 {
				continue
			}
			first = ref
			var err error
			if was, err = h.x.Thread(t.Context(), watcher, first); err != nil {
				t.Fatal(err)
			}
		}
		is, err := h.x.Thread(t.Context(), watcher, first)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(was, is, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the first thread (-was +is):\n%s", diff)
		}
		count := func(f exchange.Filter) (n int) {
			f.Limit = 1000
			page, err := h.x.List(t.Context(), watcher, f)
			if err != nil {
				t.Fatal(err)
			}
			if last := page.Threads[len(page.Threads)-1]; last.Ref != first || last.Intent != "look" {
				t.Errorf("%+v: the last is %+v, want %s", f, last, first)
			}
			return len(page.Threads)
		}
		for _, one := range []struct {
			filter exchange.Filter
			want   int
		}{
			{exchange.Filter{}, 300},
			{exchange.Filter{Status: []mess.Code{mess.Completed}}, 300},
			{exchange.Filter{Executor: kitchen.ID}, 300},
			{exchange.Filter{Requester: agent.ID}, 300},
			{exchange.Filter{Capability: "take-photo"}, 300},
			{exchange.Filter{Party: kitchen.ID}, 300},
			{exchange.Filter{Party: garage.ID}, 1},
			{exchange.Filter{Since: was.Updated}, 300},
		} {
			if n := count(one.filter); n != one.want {
				t.Errorf("%+v: %d threads, want %d", one.filter, n, one.want)
			}
		}
		if page, err := h.x.List(t.Context(), stranger, exchange.Filter{}); err != nil || len(page.Threads) > 0 {
			t.Errorf("a stranger is a party of %v, %v", page.Threads, err)
		}
		h.send(garage, "status: {re: "+first+", code: failed, reason: {detail: late}}") // the thread keeps a late report as evidence
		h.wantError(other, "status: {re: "+first+", code: failed, reason: {detail: no}}", mess.NotFound)
		if open := h.x.OpenByStatus(); len(open) > 0 {
			t.Errorf("%v are open after a late report, want none", open)
		}
		if is, err = h.x.Thread(t.Context(), watcher, first); err != nil || is.Status != mess.Completed || len(is.Messages) != len(was.Messages)+2 {
			t.Errorf("%v: %s with %d messages, want completed with %d", err, is.Status, len(is.Messages), len(was.Messages)+2)
		}
	})
}
