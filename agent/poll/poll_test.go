package poll_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/poll"
)

// counts records how often each job ran, and how many ran at the same time.
type counts struct {
	mu      sync.Mutex
	done    map[string]int
	running map[string]int
	most    map[string]int // maximum by host, and "" for all
}

func newCounts() *counts {
	return &counts{done: map[string]int{}, running: map[string]int{}, most: map[string]int{}}
}

// job returns a job that takes some time on a host.
func (c *counts) job(host, name string, takes time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		c.add(host, 1)
		defer c.add(host, -1)
		select {
		case <-time.After(takes): // fake time
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return // the scheduler repeats it
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done[name]++
	}
}

func (c *counts) add(host string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range []string{host, ""} {
		c.running[key] += n
		c.most[key] = max(c.most[key], c.running[key])
	}
}

func (c *counts) count(name string) int { c.mu.Lock(); defer c.mu.Unlock(); return c.done[name] }

// running runs a scheduler for a time.
func running(t *testing.T, s *poll.Scheduler, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}

// Each job comes when it is due, and no host has more jobs at a time than it may have.
func TestJobsRunInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := poll.New(16), newCounts()
		for host := range 10 {
			for i := range 20 {
				name, at := fmt.Sprintf("%d of %d", i, host), fmt.Sprint("host ", host)
				s.Add(poll.Job{Host: at, AtOnce: 2, Every: 10 * time.Second, Do: c.job(at, name, 50*time.Millisecond)})
			}
		}
		running(t, s, 100*time.Second)
		for host := range 10 {
			for i := range 20 {
				if n := c.count(fmt.Sprintf("%d of %d", i, host)); n < 9 || n > 12 {
					t.Errorf("job %d of host %d was done %d times in 100 s", i, host, n)
				}
			}
			if n := c.most[fmt.Sprint("host ", host)]; n != 2 {
				t.Errorf("%d jobs of a host at the same time, want 2", n)
			}
		}
		if c.most[""] > 16 {
			t.Errorf("%d jobs at the same time, want at most 16", c.most[""])
		}
	})
}

// Hosts that do not answer, however many, delay no other host.
func TestSlowHostsDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := poll.New(8), newCounts()
		for i := range 200 {
			at := fmt.Sprint("dead ", i)
			s.Add(poll.Job{Host: at, AtOnce: 2, Every: 10 * time.Second, Do: c.job(at, "dead", 5*time.Second)})
		}
		for i := range 100 {
			at := fmt.Sprint("quick ", i)
			s.Add(poll.Job{Host: at, AtOnce: 2, Every: 10 * time.Second, Do: c.job(at, at, 5*time.Millisecond)})
		}
		running(t, s, 30*time.Second) // the scheduler does not know the slow hosts at first
		learned := map[string]int{}
		for i := range 100 {
			learned[fmt.Sprint("quick ", i)] = c.count(fmt.Sprint("quick ", i))
		}
		dead := c.count("dead")
		running(t, s, 100*time.Second)
		for name, before := range learned {
			if n := c.count(name) - before; n < 9 {
				t.Errorf("%s was done %d times in 100 s", name, n)
			}
		}
		if n := c.count("dead") - dead; n < 70 { // by 4 workers, 5 s each
			t.Errorf("%d jobs of slow hosts in 100 s, want 80", n)
		}
	})
}

// Soon runs a job at once, and once more if it is running.
func TestSoonRunsJobAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := poll.New(4), newCounts()
		task := s.Add(poll.Job{Host: "a", Every: time.Hour, Do: c.job("a", "a", 400*time.Millisecond)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = s.Run(ctx) }()
		is := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if n := c.count("a"); n != want {
				t.Errorf("%s: done %d times, want %d", when, n, want)
			}
		}
		time.Sleep(2 * time.Second)
		is("at first", 1)
		s.Soon(task)
		time.Sleep(200 * time.Millisecond)
		s.Soon(task)
		s.Soon(task)
		time.Sleep(300 * time.Millisecond)
		is("soon", 2)
		time.Sleep(time.Second)
		is("once more", 3)
		time.Sleep(time.Minute)
		is("and no more", 3)
	})
}

// Ten thousand jobs have no goroutine of their own, and little memory.
func TestTenThousandJobsNeedLittleMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	synctest.Test(t, func(t *testing.T) {
		s, c, before := poll.New(16), newCounts(), heap()
		const n = 10_000
		most := 0
		for i := range n {
			at := fmt.Sprint(i)
			s.Add(poll.Job{Host: at, AtOnce: 1, Every: time.Minute, Do: c.job(at, "job", time.Millisecond)})
		}
		if size := (heap() - before) / n; size > 500 {
			t.Errorf("%d bytes for each job", size)
		}
		s.Add(poll.Job{Host: "count", Every: time.Second, Do: func(context.Context) { most = max(most, runtime.NumGoroutine()) }})
		running(t, s, 10*time.Minute)
		if got := c.count("job"); got < 9*n || got > 12*n {
			t.Errorf("%d jobs in ten minutes, want 10 of each of %d", got, n)
		}
		if most > 40 {
			t.Errorf("%d goroutines", most)
		}
	})
}

// A removed job runs no more, whether it waits for its time, waits for its host or runs. Other jobs of
// its host go on.
func TestRemovedJobRunsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := poll.New(4), newCounts()
		job := func(name string) *poll.Task {
			return s.Add(poll.Job{Host: "hub", AtOnce: 1, Every: 10 * time.Second, Do: c.job("hub", name, 100*time.Millisecond)})
		}
		early, runs, stays := job("early"), job("runs"), job("stays")
		s.Remove(early)
		time.AfterFunc(50*time.Millisecond, func() { s.Remove(runs) })
		waits := s.Add(poll.Job{Host: "hub", AtOnce: 1, Every: 10 * time.Second, Do: c.job("hub", "waits", 100*time.Millisecond)})
		time.AfterFunc(20*time.Millisecond, func() { s.Remove(waits) })
		time.AfterFunc(time.Second, func() { s.Soon(runs) })
		running(t, s, 65*time.Second)
		_ = stays
		if c.count("early") != 0 || c.count("waits") > 1 || c.count("runs") > 1 || c.count("stays") < 6 {
			t.Errorf("early %d, waits %d, runs %d, stays %d", c.count("early"), c.count("waits"), c.count("runs"), c.count("stays"))
		}
	})
}
