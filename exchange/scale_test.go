package exchange_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// The benchmarks of this file measure the cost of a step in an exchange with many
// threads and executors. scripts/bench-scale.sh copies this file to an earlier commit
// and shows both results. The file scale_open_test.go has the code that differs since then.

// isLarge reports whether the sizes are those of the goals, which takes long.
func isLarge() bool { return os.Getenv("LARGE") != "" }

func sizeOf(usual, most int) int {
	if isLarge() {
		return most
	}
	return usual
}

// scale is an exchange over a large memory store.
type scale struct {
	testing.TB
	x *exchange.Exchange
	n int
}

func newScale(tb testing.TB) *scale {
	return &scale{TB: tb, x: openScale(tb, newScaleStore())}
}

func openScale(tb testing.TB, store scaleStore) *exchange.Exchange {
	tb.Helper()
	cfg := exchange.DefaultConfig()
	cfg.LeaseWithoutHeartbeat = 24 * time.Hour
	x, err := exchange.Open(tb.Context(), cfg, store, time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

// send posts a message in JSON and returns the ref of its ack.
func (s *scale) send(actor exchange.Actor, text string) (ref string, err error) {
	m, err := mess.ParseJSON([]byte(text))
	if err != nil {
		s.Fatal(err)
	}
	answer, err := s.x.Post(context.Background(), exchange.Inbound{Actor: actor, Channel: "bench", Message: m})
	if err != nil {
		return "", err
	}
	for _, item := range answer.Items {
		if a, ok := item.(*mess.Ack); ok {
			ref = a.Ref
		}
	}
	return ref, nil
}

func (s *scale) must(actor exchange.Actor, format string, args ...any) string {
	s.Helper()
	ref, err := s.send(actor, fmt.Sprintf(format, args...))
	if err != nil {
		s.Fatal(err)
	}
	return ref
}

func (s *scale) executor(i int) exchange.Actor {
	return exchange.Actor{ID: fmt.Sprintf("e%d", i), Roles: exchange.ExecutorRole}
}

// register registers executors from one number to another, with a profile beside
// the id.
func (s *scale) register(from, to int, profile string) {
	for i := from; i < to; i++ {
		e := s.executor(i)
		s.must(e, `{"MESS":[{"config":{"executor":{"id":%q,"versions":["1.1.0"],%s}}}]}`, e.ID, profile)
	}
}

var asker = exchange.Actor{ID: "asker", Roles: exchange.Requester}

func (s *scale) request(more string) string {
	s.n++
	return s.must(asker, `{"MESS":[{"request":{"intent":"bench %d","requires":["bench"]%s}}]}`, s.n, more)
}

// fill creates open threads.
func (s *scale) fill(n int) {
	for range n {
		s.request("")
	}
}

// finish takes a thread from the claim to the end.
func (s *scale) finish(e exchange.Actor, ref string) {
	for _, code := range []string{"claimed", "in_progress", "completed"} {
		s.must(e, `{"re":%q,"MESS":[{"status":{"code":%q}}]}`, ref, code)
	}
}

// follow has executors follow until the benchmark ends.
func (s *scale) follow(n int) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	for i := range n {
		following.Go(func() {
			_ = s.x.Follow(ctx, s.executor(i), "", func(exchange.Event) error { return nil }) // it ends with ctx
		})
	}
	return func() { cancel(); following.Wait() }
}

func BenchmarkScaleHeartbeat(b *testing.B) {
	s := newScale(b)
	s.register(0, 1, `"capabilities":["other"]`)
	s.fill(sizeOf(10_000, 100_000))
	for b.Loop() {
		s.must(s.executor(0), `{"MESS":[{"config":{"executor":{"id":"e0","holding":[]}}}]}`)
	}
}

func BenchmarkScaleUnknownRef(b *testing.B) {
	s := newScale(b)
	s.fill(sizeOf(10_000, 100_000))
	for b.Loop() {
		if _, err := s.send(s.executor(0), `{"re":"2026-01-01-999","MESS":[{"status":{"code":"claimed"}}]}`); err == nil {
			b.Fatal("a thread that is not there is claimed")
		}
	}
}

func BenchmarkScaleThread(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newScale(b)
			s.register(0, n, `"capabilities":["bench"]`)
			defer s.follow(n)()
			for b.Loop() {
				s.finish(s.executor(0), s.request(""))
			}
		})
	}
}

// Of a thousand executors each serves one place, and a request names one.
func BenchmarkScaleLocation(b *testing.B) {
	s := newScale(b)
	for i := range 1000 {
		s.register(i, i+1, fmt.Sprintf(`"capabilities":["bench"],"areas":["place-%d"]`, i))
	}
	i := 0
	for b.Loop() {
		s.request(fmt.Sprintf(`,"constraints":{"location":"place-%d"}`, i%1000))
		i++
	}
}

func BenchmarkScaleNewExecutor(b *testing.B) {
	s := newScale(b)
	s.register(0, 1000, `"capabilities":["bench"]`)
	s.fill(sizeOf(100, 10_000))
	i := 1000
	for b.Loop() {
		s.register(i, i+1, `"capabilities":["bench"]`)
		i++
	}
}

// A restart has all executors register again. The figure is for a thousand of them.
func BenchmarkScaleRestart(b *testing.B) {
	store := newScaleStore()
	s := &scale{TB: b, x: openScale(b, store)}
	s.register(0, 1000, `"capabilities":["bench"]`)
	s.fill(sizeOf(100, 1000))
	s.x = openScale(b, store)
	i := 0
	for b.Loop() {
		s.register(i%1000, i%1000+1, `"capabilities":["bench"]`)
		i++
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "s/1000")
}

func BenchmarkScaleList(b *testing.B) {
	s := newScale(b)
	s.fill(sizeOf(10_000, 1_000_000))
	outsider := exchange.Actor{ID: "nobody", Roles: exchange.Requester}
	for name, actor := range map[string]exchange.Actor{"all": {ID: "op", Roles: exchange.Operator | exchange.Observer}, "none": outsider} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page, err := s.x.List(b.Context(), actor, exchange.Filter{Limit: 50})
				if err != nil || name == "all" && len(page.Threads) != 50 {
					b.Fatalf("%d threads, %v", len(page.Threads), err)
				}
			}
		})
	}
}

// memoryInUse is how much memory is in use, of the heap and of stacks.
func memoryInUse() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func BenchmarkScaleMemory(b *testing.B) {
	nothing := func() {}
	each := func(name string, n, executors int, more func(s *scale) (end func())) {
		b.Run(name, func(b *testing.B) {
			s := newScale(b)
			s.register(0, executors, `"capabilities":["bench"]`)
			before := memoryInUse()
			end := more(s)
			used := memoryInUse() - before
			end()
			for b.Loop() { // the result is the memory
			}
			b.ReportMetric(float64(used)/float64(n), "B/each")
			runtime.KeepAlive(s)
		})
	}
	const n = 5000
	each("executor", n, 0, func(s *scale) func() { s.register(0, n, `"capabilities":["bench"]`); return nothing })
	open := sizeOf(20_000, 100_000)
	each("open", open, 0, func(s *scale) func() { s.fill(open); return nothing })
	each("ended", n, 1, func(s *scale) func() {
		for range n {
			s.finish(s.executor(0), s.request(""))
		}
		return nothing
	})
	each("follower", 500, 500, func(s *scale) func() {
		end := s.follow(500)
		time.Sleep(300 * time.Millisecond) // until all follow
		return end
	})
}
