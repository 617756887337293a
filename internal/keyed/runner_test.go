package keyed_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/internal/keyed"
)

func TestCallsOfOneNameAreOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r keyed.Runner
		var atOnce, most, calls atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			r.Run(ctx, func(context.Context, string) time.Duration {
				most.Store(max(most.Load(), atOnce.Add(1)))
				time.Sleep(time.Second)
				atOnce.Add(-1)
				calls.Add(1)
				return keyed.Idle
			})
		})
		for range 3 {
			r.Wake("one")
			r.Wake("one")
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		if most.Load() != 1 || calls.Load() != 2 { // wake-ups during a call lead to one more call
			t.Errorf("%d calls, %d at once", calls.Load(), most.Load())
		}
		r.Wake("one")
		r.Wake("other")
		time.Sleep(500 * time.Millisecond)
		if n := atOnce.Load(); n != 2 {
			t.Errorf("%d names at once, want 2", n)
		}
		cancel()
		done.Wait()
		if n := calls.Load(); n != 4 {
			t.Errorf("Run has not waited: %d calls", n)
		}
	})
}

func TestRunnerCallsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r keyed.Runner
		begun := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		waits := []time.Duration{0, time.Minute, time.Hour, keyed.Idle}
		r.Open(func(string) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(begun))
			return waits[len(at)-1]
		})
		r.Later("one", time.Second)
		r.Later("one", time.Hour) // it is planned
		time.Sleep(2 * time.Minute)
		r.Wake("one") // which makes the planned call unnecessary
		time.Sleep(24 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if want := []time.Duration{time.Second, time.Second, time.Minute + time.Second, 2 * time.Minute}; !slices.Equal(at, want) {
			t.Errorf("called at %v, want %v", at, want)
		}
	})
}

func TestClosedRunnerFinishesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r keyed.Runner
		var calls atomic.Int64
		left := 3
		work := func(string) time.Duration {
			calls.Add(1)
			if left--; left == 2 {
				r.Close()
			}
			if left == 0 {
				return keyed.Idle
			}
			return 0
		}
		r.Wake("one")
		if synctest.Wait(); calls.Load() != 0 {
			t.Fatal("a closed runner works")
		}
		r.Open(work)
		r.Wait()
		if calls.Load() != 1 || !r.Busy("one") {
			t.Fatalf("%d calls, busy %t", calls.Load(), r.Busy("one"))
		}
		r.Open(work)
		if synctest.Wait(); calls.Load() != 3 || r.Busy("one") {
			t.Errorf("%d calls, busy %t", calls.Load(), r.Busy("one"))
		}
	})
}

func TestQueuesKeepOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q keyed.Queues[int]
		var mu sync.Mutex
		done := map[string][]int{}
		failed := false
		for i := range 6 {
			q.Add([]string{"odd", "even"}[i%2], i)
		}
		q.Runner.Open(func(name string) time.Duration {
			return q.Work(name, func(i int) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				if i == 2 && !failed {
					failed = true
					return time.Hour
				}
				done[name] = append(done[name], i)
				return keyed.Idle
			})
		})
		synctest.Wait()
		mu.Lock()
		if !slices.Equal(done["even"], []int{1, 3, 5}) || !slices.Equal(done["odd"], []int{0}) || q.Waiting() != 2 {
			t.Errorf("%v, %d wait", done, q.Waiting())
		}
		mu.Unlock()
		time.Sleep(2 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(done["odd"], []int{0, 2, 4}) || q.Waiting() != 0 {
			t.Errorf("%v, %d wait", done, q.Waiting())
		}
	})
}

// A full queue gives up its oldest entry, also one in work, and keeps the others in order.
func TestQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := keyed.Queues[int]{Limit: 2}
		var mu sync.Mutex
		var done, lost []int
		add := func(i int) {
			if oldest, full := q.Add("one", i); full {
				lost = append(lost, oldest)
			}
		}
		q.Runner.Open(func(name string) time.Duration {
			return q.Work(name, func(i int) time.Duration {
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				done = append(done, i)
				return keyed.Idle
			})
		})
		add(1)
		synctest.Wait() // 1 is in work
		add(2)
		add(3)
		if got := q.Of("one"); !slices.Equal(got, []int{2, 3}) || !slices.Equal(q.All(), got) || q.Waiting() != 2 || q.Of("two") != nil {
			t.Errorf("%v wait, and %d", got, q.Waiting())
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(lost, []int{1}) || !slices.Equal(done, []int{1, 2, 3}) || q.Waiting() != 0 || len(q.All()) != 0 {
			t.Errorf("lost %v, done %v, %d wait", lost, done, q.Waiting())
		}
	})
}
