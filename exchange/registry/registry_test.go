package registry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// fixture is a registry with a stopped clock, and no exchange around it.
type fixture struct {
	*registry.Registry
	t    testing.TB
	docs *documents.Documents

	now       atomic.Pointer[time.Time]
	mu        sync.Mutex
	published []string   // executor and kind
	more      *sync.Cond // of mu: published has grown
	holds     map[string][]string
}

func open(t testing.TB, store thread.Store) *fixture {
	t.Helper()
	f := &fixture{t: t, docs: documents.New(store), holds: map[string][]string{}}
	f.more = sync.NewCond(&f.mu)
	f.after(0)
	level := errors.New("level")
	err := store.Feed(t.Context(), "", func(c thread.Change) error {
		f.docs.Note(c)
		if c.Level {
			return level
		}
		return nil
	})
	if !errors.Is(err, level) {
		t.Fatal(err)
	}
	f.Registry, err = registry.Open(registry.Config{
		Unreachable: time.Minute, LeaseWithoutHeartbeat: time.Hour, Log: slog.New(slog.DiscardHandler),
		Now:       func() time.Time { return *f.now.Load() },
		IsPresent: func(string) bool { return false },
		Held:      func(id string) []string { return f.holds[id] },
		Changed:   func() {},
		Publish: func(e thread.Event, id string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.published = append(f.published, id+" "+string(e.Kind))
			f.more.Broadcast()
		},
	}, f.docs)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) after(d time.Duration) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if last := f.now.Load(); last != nil {
		now = last.Add(d)
	}
	f.now.Store(&now)
}

func (f *fixture) register(id, capability string) {
	f.t.Helper()
	c := mess.Executor{ID: id, Capabilities: []mess.Capability{{ID: capability}}, Holding: []mess.HeldThread{}}
	if err := f.Register(context.Background(), c); err != nil {
		f.t.Error(err)
	}
}

func able(s *registry.Snapshot, capability string) bool {
	return s.Table.Has(mess.Capability{ID: capability})
}

// TestSnapshot checks that later changes do not affect a snapshot.
func TestSnapshot(t *testing.T) {
	f := open(t, memory.New())
	for i := range 600 { // some share a part of the snapshot
		f.register(fmt.Sprint("e", i), "x")
	}
	old := f.Snapshot()
	f.register("e0", "y")
	f.register("new", "z")
	if _, err := f.Stop(t.Context(), mess.Stop{ID: "s", Reason: "smoke"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Drain(t.Context(), thread.Actor{ID: "op", Roles: thread.Operator}, registry.Drain{On: true, Order: mess.DrainOrder{ID: "h", By: "op", Executors: mess.Refs{"e1"}}}); err != nil {
		t.Fatal(err)
	}
	f.after(2 * time.Minute)
	if _, err := f.Deregister(t.Context(), "e2"); err != nil {
		t.Fatal(err)
	}
	s := f.Snapshot()
	for _, c := range []struct {
		what     string
		old, now bool
	}{
		{"e0 has y", able(old, "y"), able(s, "y")},
		{"new is registered", old.Executor("new") != nil, s.Executor("new") != nil},
		{"e5 has a stop", len(old.Orders("e5").Stops) > 0, len(s.Orders("e5").Stops) > 0},
		{"all are stopped", old.StopAll.Count > 0, s.StopAll.Count > 0},
		{"e1 is drained", old.Orders("e1").IsDrained(), s.Orders("e1").IsDrained()},
		{"e2 is deregistered", old.Executor("e2").Deregistered, s.Executor("e2").Deregistered},
	} {
		if c.old || !c.now {
			t.Errorf("%s: %v in the old snapshot, %v in the new one", c.what, c.old, c.now)
		}
	}
	if n := old.Table.Len(); n != 600 {
		t.Errorf("%d executors in the old snapshot", n)
	}
	if !slices.Contains(f.published, "e5 "+string(thread.EventStop)) || !slices.Contains(f.published, "e1 "+string(thread.EventDrain)) {
		t.Error("the orders are not published")
	}
}

// TestOpen checks that a registry is the same after a restart.
func TestOpen(t *testing.T) {
	store := memory.New()
	f := open(t, store)
	f.register("a", "x")
	f.register("b", "y")
	operator := thread.Actor{ID: "op", Roles: thread.Operator}
	if _, err := f.Stop(t.Context(), mess.Stop{ID: "s1", Executors: mess.Refs{"a"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stop(t.Context(), mess.Stop{ID: "s2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Drain(t.Context(), operator, registry.Drain{On: true, Order: mess.DrainOrder{ID: "h", By: "op", Reason: "repair", Executors: mess.Refs{"a"}}}); err != nil {
		t.Fatal(err)
	}
	confirmed, err := f.Report(t.Context(), mess.Executor{ID: "a", Stopped: &mess.StopState{Orders: mess.Refs{"s1"}, Reason: "stopped"}})
	if err != nil || !confirmed {
		t.Fatalf("confirmed %v, %v", confirmed, err)
	}
	f.after(2 * time.Minute)
	if _, err := f.Deregister(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	s := open(t, store).Snapshot()
	a := s.Orders("a")
	if len(a.Stops) != 1 || a.Stops[0].ID != "s2" || a.DrainReason() != "drained by op: repair" || s.StopAll.Count != 1 || s.StopAll.Stop.ID != "s2" {
		t.Errorf("the orders are %+v, of all %+v", a, s.StopAll)
	}
	if got := s.Deregistered(); !slices.Equal(got, []string{"b"}) || s.Executor("a") == nil || able(s, "y") || !able(s, "x") {
		t.Errorf("deregistered are %v", got)
	}
}

// TestDeregister checks that an executor that may act stays on the lists.
func TestDeregister(t *testing.T) {
	f := open(t, memory.New())
	f.register("a", "x")
	refuses := func(when string) {
		t.Helper()
		if _, err := f.Deregister(t.Context(), "a"); !errors.Is(err, mess.NotYet) {
			t.Errorf("%s: %v", when, err)
		}
	}
	refuses("it has just spoken")
	f.after(2 * time.Minute)
	f.holds["a"] = []string{"2026-03-01-001"}
	refuses("it holds a thread")
	f.holds["a"] = nil
	f.Seen("a")
	refuses("it sends a heartbeat")
	f.after(2 * time.Minute)
	if _, err := f.Deregister(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if f.Seen("a") != nil {
		t.Error("a deregistered executor counts as seen without a recall")
	}
	f.Recall(t.Context(), "a")
	if e := f.Snapshot().Executor("a"); e.Deregistered || !e.Seen().Equal(*f.now.Load()) || !able(f.Snapshot(), "x") {
		t.Error("the executor sent a message, and is not registered again")
	}
}

// blockingStore is a store that blocks writes of documents of a kind until all of them wait.
type blockingStore struct {
	thread.Store
	kind string
	wait sync.WaitGroup
}

func (g *blockingStore) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if kind == g.kind {
		g.wait.Done()
		g.wait.Wait()
	}
	return g.Store.Put(ctx, kind, id, doc, after)
}

// TestStopIsWrittenAtOnce checks that the documents of one stop reach the store together, so
// that they share a sync, and that the executors have the stop before that.
func TestStopIsWrittenAtOnce(t *testing.T) {
	const n = 300
	store := &blockingStore{Store: memory.New(), kind: "stop"}
	f := open(t, store)
	for i := range n {
		f.register(fmt.Sprint("e", i), "x")
	}
	store.wait.Add(n + 1)
	done := make(chan error)
	go func() {
		_, err := f.Stop(t.Context(), mess.Stop{ID: "s"})
		done <- err
	}()
	f.mu.Lock()
	for len(f.published) < n {
		f.more.Wait()
	}
	f.mu.Unlock()
	store.wait.Done() // the last one releases all others
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestConcurrentOperations runs all operations at the same time. At the end, the store and the registry
// have the same state.
func TestConcurrentOperations(t *testing.T) {
	store := memory.New()
	f := open(t, store)
	operator := thread.Actor{ID: "op", Roles: thread.Operator}
	var g sync.WaitGroup
	for i := range 8 {
		id := fmt.Sprint("e", i)
		g.Go(func() {
			for n := range 50 {
				f.register(id, fmt.Sprint("x", n%3))
				f.Seen(id)
				f.SetStates(id, []mess.DeviceState{{Device: "lamp", State: "on"}})
				var orders mess.Refs
				for _, s := range f.Snapshot().Orders(id).Stops {
					orders = append(orders, s.ID)
				}
				if _, err := f.Report(t.Context(), mess.Executor{ID: id, Stopped: &mess.StopState{Orders: orders}, Drained: &mess.DrainState{}}); err != nil {
					t.Error(err)
				}
			}
		})
		g.Go(func() {
			for n := range 50 {
				_, _ = f.Stop(t.Context(), mess.Stop{ID: fmt.Sprint(id, n)})
				_, _ = f.Drain(t.Context(), operator, registry.Drain{On: n%2 == 0, Order: mess.DrainOrder{ID: fmt.Sprint(id, n), By: "op"}})
				_, _ = f.Deregister(t.Context(), id)
				f.Recall(t.Context(), id)
				for e := range f.Snapshot().All() {
					_ = e.States()
				}
			}
		})
	}
	g.Wait()
	is, stored := f.Snapshot(), open(t, store).Snapshot()
	if is.StopAll.Count != stored.StopAll.Count || is.StopAll.Count != 400 {
		t.Errorf("%d stops, %d are stored", is.StopAll.Count, stored.StopAll.Count)
	}
	for i := range 8 {
		id := fmt.Sprint("e", i)
		a, b := is.Orders(id), stored.Orders(id)
		if len(a.Stops) != len(b.Stops) || a.IsDrained() != b.IsDrained() || is.Executor(id).Capabilities[0] != stored.Executor(id).Capabilities[0] {
			t.Errorf("%s: %+v, and %+v is stored", id, a, b)
		}
	}
}

// TestHeartbeatCopiesNothing checks that the cost of a heartbeat does not grow with the
// executors.
func TestHeartbeatCopiesNothing(t *testing.T) {
	f := open(t, memory.New())
	for i := range 2000 {
		f.register(fmt.Sprint("e", i), fmt.Sprint("x", i%50))
	}
	was := f.Snapshot()
	if n := testing.AllocsPerRun(100, func() { f.Seen("e7") }); n > 2 {
		t.Errorf("%v allocations", n)
	}
	if f.Snapshot() != was {
		t.Error("a heartbeat makes a snapshot")
	}
}

// BenchmarkRegister is the change of one executor of 10,000.
func BenchmarkRegister(b *testing.B) {
	f := open(b, memory.New())
	for i := range 10_000 {
		f.register(fmt.Sprint("e", i), fmt.Sprint("x", i%50))
	}
	for i := 0; b.Loop(); i++ {
		f.register("e7", fmt.Sprint("y", i%2))
	}
}
