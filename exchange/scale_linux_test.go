package exchange_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// fleet is an exchange with many executors, in real time.
type fleet struct {
	testing.TB
	x     *exchange.Exchange
	store exchange.Store
}

func newFleet(tb testing.TB, store exchange.Store) *fleet {
	tb.Helper()
	cfg := exchange.DefaultConfig()
	cfg.Confirm = exchange.ConfirmScript
	x, err := exchange.Open(tb.Context(), cfg, store, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return &fleet{tb, x, store}
}

func (f *fleet) send(actor exchange.Actor, text string) mess.Ack {
	m, err := mess.Parse([]byte(text))
	if err != nil {
		f.Errorf("%s: %v", text, err)
		return mess.Ack{}
	}
	answer, err := f.x.Post(f.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m})
	if err != nil {
		f.Errorf("post by %s of %s: %v", actor.ID, text, err)
		return mess.Ack{}
	}
	return *answer.Items[0].(*mess.Ack)
}

func (f *fleet) register(i int, more string) {
	f.send(worker(i), "config: {executor: {id: "+worker(i).ID+", capabilities: [clean], versions: [1.1.0], holding: []"+more+"}}")
}

// cpu has the benchmark report the CPU time of an operation in us. On a busy machine, CPU time
// varies less than the elapsed time.
func cpu(b *testing.B) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	was := used()
	b.Cleanup(func() { b.ReportMetric(float64((used()-was).Microseconds())/float64(b.N), "cpu-us/op") })
}

// requestMany makes n requests that wait.
func (f *fleet) requestMany(n int, what string) {
	for range n {
		f.send(agent, "request: {intent: clean the floor"+what+"}")
	}
}

// follow subscribes n executors. The channel has the ref and the executor of each offer.
func (f *fleet) follow(n int) <-chan [2]string {
	offers, joined := make(chan [2]string, 1<<16), sync.WaitGroup{}
	ctx, stop := context.WithCancel(f.Context())
	var following sync.WaitGroup
	for i := range n {
		joined.Add(1)
		following.Go(func() {
			_ = f.x.FollowFrom(ctx, worker(i), "", func() error { joined.Done(); return nil }, func(e exchange.Event) error {
				if e.Kind == exchange.EventOffer {
					select {
					case offers <- [2]string{e.Thread.Ref, worker(i).ID}:
					default:
					}
				}
				return nil
			})
		})
	}
	joined.Wait()
	f.Cleanup(func() { stop(); following.Wait() })
	return offers
}

// BenchmarkHeartbeat is one empty heartbeat beside threads that are open.
func BenchmarkHeartbeat(b *testing.B) {
	for _, open := range []int{10, 10_000, 100_000} {
		b.Run(fmt.Sprintf("open=%d", open), func(b *testing.B) {
			f := newFleet(b, memory.New())
			f.register(0, "")
			f.requestMany(open, ", requires: [something else]")
			for cpu(b); b.Loop(); {
				f.send(worker(0), "config: {executor: {id: "+worker(0).ID+", holding: []}}")
			}
		})
	}
}

// BenchmarkTask measures a request, its claim by the first executor with an offer, its start and
// its end. All executors are candidates and subscribed.
func BenchmarkTask(b *testing.B) {
	for _, executors := range []int{1, 16, 1000} {
		b.Run(fmt.Sprintf("executors=%d", executors), func(b *testing.B) {
			f := newFleet(b, memory.New())
			for i := range executors {
				f.register(i, "")
			}
			offers := f.follow(executors)
			for cpu(b); b.Loop(); {
				ref := f.send(agent, "request: {intent: clean, requires: [clean]}").Ref
				offer := <-offers
				for offer[0] != ref {
					offer = <-offers
				}
				actor := exchange.Actor{ID: offer[1], Roles: exchange.ExecutorRole}
				for _, code := range []string{"claimed", "in_progress", "completed"} {
					f.send(actor, "status: {re: "+ref+", code: "+code+"}")
				}
			}
		})
	}
}

// BenchmarkTaskBesideOthers is the same task for one executor, beside many that cannot do it and that
// registered lately. They have a thousand capabilities.
func BenchmarkTaskBesideOthers(b *testing.B) {
	for _, others := range []int{100, 1000, sizeOf(10_000, 100_000)} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			f := newFleet(b, memory.New())
			f.register(0, "")
			for i := range others {
				id := worker(i + 1).ID
				f.send(worker(i+1), fmt.Sprintf("config: {executor: {id: %s, capabilities: [other-%d], versions: [1.1.0], holding: []}}", id, i%1000))
			}
			actor := worker(0)
			for cpu(b); b.Loop(); {
				ref := f.send(agent, "request: {intent: clean, requires: [clean]}").Ref
				for _, code := range []string{"claimed", "in_progress", "completed"} {
					f.send(actor, "status: {re: "+ref+", code: "+code+"}")
				}
			}
		})
	}
}

// BenchmarkLocation is a request that names a place, and its end, beside executors each
// of which serves a place.
func BenchmarkLocation(b *testing.B) {
	for _, executors := range []int{1, 1000} {
		b.Run(fmt.Sprintf("executors=%d", executors), func(b *testing.B) {
			f := newFleet(b, memory.New())
			for i := range executors {
				f.register(i, fmt.Sprintf(", areas: [room-%d, floor-%d]", i, i/10))
			}
			for cpu(b); b.Loop(); {
				ref := f.send(agent, "request: {intent: clean, requires: [clean], constraints: {location: {name: room-0}}}").Ref
				f.send(agent, "cancel: {re: "+ref+"}")
			}
		})
	}
}

// storeWithPending is a store with executors and requests that wait for one of them.
func storeWithPending(b *testing.B, pending, executors int) exchange.Store {
	store := memory.New()
	requests := newFleet(b, store) // it knows of no executor
	workers := newFleet(b, store)
	for i := range executors {
		workers.register(i, "")
	}
	requests.requestMany(pending, ", requires: [clean]")
	return store
}

// longestCall calls do, and returns the longest time of a small call during it, in ms.
func (f *fleet) longestCall(do func()) float64 {
	var stop atomic.Bool
	longest := make(chan time.Duration)
	go func() {
		var most time.Duration
		for !stop.Load() {
			at := time.Now()
			f.x.HasOffer("nothing", "nobody")
			f.x.ExecutorsChanged()
			most = max(most, time.Since(at))
			time.Sleep(100 * time.Microsecond)
		}
		longest <- most
	}()
	do()
	stop.Store(true)
	return float64(<-longest) / float64(time.Millisecond)
}

// BenchmarkRegister is the registration of one executor more; lock-ms is how long others
// waited for it at most.
func BenchmarkRegister(b *testing.B) {
	for _, pending := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("pending=%d/executors=1000", pending), func(b *testing.B) {
			f := newFleet(b, storeWithPending(b, pending, 1000))
			n, most := 1000, 0.0
			for cpu(b); b.Loop(); {
				most = max(most, f.longestCall(func() { f.register(n, "") }))
				n++
			}
			b.ReportMetric(most, "lock-ms")
		})
	}
}

// BenchmarkRestart is that all executors register again and follow after a restart.
func BenchmarkRestart(b *testing.B) {
	store := storeWithPending(b, 1000, 1000)
	for cpu(b); b.Loop(); {
		f := newFleet(b, store)
		for i := range 1000 {
			f.register(i, "")
		}
		f.follow(1000)
	}
}
