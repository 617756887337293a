package mqtt

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// fakeBroker is a broker that takes everything.
type fakeBroker struct{ states map[string]bool }

func (b *fakeBroker) publish(_ context.Context, m outgoing) error {
	b.states[m.topic] = len(m.payload) > 0
	return nil
}

func bounded(t *testing.T, now func() time.Time) *Adapter {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(x, Config{}, now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Many unregistered ids publish a status: the adapter still accepts the status of a registered
// executor, and the number of unregistered ones has a limit.
func TestUnregisteredExecutorsAreBounded(t *testing.T) {
	now := time.Now()
	d := bounded(t, func() time.Time { return now })
	executor := exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}
	if _, err := d.x.Post(t.Context(), exchange.Inbound{Actor: executor, Message: mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: "pi", Capabilities: []mess.Capability{}}}}}}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxStrangers {
		d.executors.applyStatus(fmt.Sprint("stranger", i), []byte(`{"state":"lost"}`))
	}
	d.executors.applyStatus("pi", []byte(`{"state":"ready"}`))
	if len(d.executors.presences) != maxStrangers+1 || !d.executors.presences["pi"].present {
		t.Errorf("%d executors; pi %v", len(d.executors.presences), d.executors.presences["pi"])
	}
	d.executors.countStrangers()
	if d.executors.strangers != maxStrangers {
		t.Errorf("%d strangers", d.executors.strangers)
	}
	now = now.Add(2 * quietTime)
	d.executors.countStrangers()
	d.executors.applyStatus("new", []byte(`{"state":"ready"}`))
	if len(d.executors.presences) != 2 || !d.executors.presences["new"].present {
		t.Errorf("after a while: %v", d.executors.presences)
	}
}

// The broker has the state of each thread, however many there are.
func TestEveryThreadHasState(t *testing.T) {
	d := bounded(t, time.Now)
	b := &fakeBroker{states: map[string]bool{}}
	const threads = 25_000
	for i := range threads {
		e := exchange.Envelope{Ref: fmt.Sprintf("2026-02-01-%03d", i+1), Requester: "me", Status: mess.Pending, Updated: time.Now()}
		if err := d.states.publish(t.Context(), b, e); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.states) != threads || d.counters.dropped.Load() != 0 {
		t.Errorf("%d states, %d dropped", len(b.states), d.counters.dropped.Load())
	}
}
