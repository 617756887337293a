package exchange_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/mess"
)

// wantMetrics checks that the metrics of the exchange have each of some lines.
func (h *harness) wantMetrics(lines ...string) {
	h.t.Helper()
	var out metrics.Text
	h.x.WriteMetrics(&out)
	text := "\n" + string(out.Bytes())
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			h.t.Errorf("the metrics do not have %s:\n%s", line, text)
		}
	}
}

// The metrics count what the exchange does, once each.
func TestMetricsCountSteps(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.wantMetrics("messkit_requests_created_total 0", `messkit_threads_ended_total{status="completed"} 0`)
		h.register(kitchen, "look")
		one := h.send(agent, "request: {id: one, intent: look, requires: [look]}").Ref
		h.send(agent, "request: {id: one, intent: look, requires: [look]}") // again: the same thread
		h.send(agent, "request: {id: two, intent: look, requires: [look]}")
		h.advance(2 * time.Second)
		h.send(kitchen, "status: {code: claimed, re: "+one+"}")
		h.wantMetrics(`messkit_threads_open{status="pending"} 1`, `messkit_threads_open{status="claimed"} 1`, `messkit_executors{presence="present"} 1`)
		h.send(kitchen, "status: {code: in_progress, re: "+one+"}")
		h.advance(time.Second)
		h.send(kitchen, "status: {code: completed, re: "+one+"}")
		h.wantError(agent, "cancel: {re: none}", mess.NotFound)
		h.wantMetrics(
			"messkit_requests_created_total 2", "messkit_claims_total 1", `messkit_threads_ended_total{status="completed"} 1`,
			"messkit_claim_wait_seconds_count 1", "messkit_claim_wait_seconds_sum 2", "messkit_thread_duration_seconds_sum 3",
			`messkit_messages_refused_total{reason="unknown"} 1`, "messkit_store_append_duration_seconds_count 6",
			"messkit_store_append_failures_total 0", "messkit_feed_lag_seconds 0", `messkit_threads_open{status="claimed"} 0`,
		)
	})
}

// brokenStore fails writes and holds its feed back on demand.
type brokenStore struct {
	exchange.Store
	full    atomic.Bool
	release chan struct{} // the feed waits for it; closed: it waits for nothing
}

var errBroken = errors.New("the disk is broken")

func (s *brokenStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if s.full.Load() {
		return "", errBroken
	}
	return s.Store.Append(ctx, step)
}

func (s *brokenStore) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return s.Store.Feed(ctx, after, func(c thread.Change) error {
		if c.Envelope.Ref != "" {
			<-s.release
		}
		return fn(c)
	})
}

// The exchange is not ready while the feed does not deliver its steps, and says for how long. A failed
// append counts.
func TestUnreadyWhileFeedIsBehind(t *testing.T) {
	store := &brokenStore{Store: memory.New(), release: make(chan struct{})}
	withHarnessOver(t, store, exchange.DefaultConfig(), func(h *harness) {
		h.advance(0)
		if why := h.x.Unready(); why != "" {
			t.Errorf("not ready at the start: %s", why)
		}
		release := make(chan struct{})
		store.release = release
		h.send(agent, "request: {intent: look}")
		h.advance(4 * time.Second)
		if why := h.x.Unready(); why != "" {
			t.Errorf("not ready after 4 s: %s", why)
		}
		h.advance(4 * time.Second)
		if why := h.x.Unready(); why != "the feed of the store is 8s behind" {
			t.Errorf("after 8 s the exchange says %q", why)
		}
		h.wantMetrics("messkit_feed_lag_seconds 8")
		close(release)
		h.advance(time.Second)
		h.send(agent, "request: {intent: look}")
		h.advance(0)
		if why := h.x.Unready(); why != "" {
			t.Errorf("not ready after the feed goes on: %s", why)
		}
		store.full.Store(true)
		h.wantError(agent, "request: {intent: look}", mess.Unavailable)
		h.wantMetrics("messkit_store_append_failures_total 1", `messkit_messages_refused_total{reason="unavailable"} 1`, "messkit_requests_created_total 2")
	})
}
