// Package poll repeats jobs with few goroutines: one heap holds the times of all jobs, and a
// limited number of workers runs the due ones.
//
// Jobs of one host wait for each other, so that a small device has one request at a time. Hosts
// take turns. The scheduler cancels a slow job once and repeats it without a time limit, on the
// half of the workers that slow hosts may use. So hosts that do not answer delay no other host.
package poll

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/timequeue"
	"github.com/messkit/messkit/internal/wait"
)

// Job is a repeated task.
type Job struct {
	Host   string                // the host that it calls
	AtOnce int                   // how many jobs of that host may run at the same time
	Every  time.Duration         // interval between two starts, shortened by up to a tenth
	Do     func(context.Context) // it must return when its context ends; after a cancel it runs again
}

// slowAfter is how long a job may take before its host counts as slow. A small device in a good
// network answers sooner.
const slowAfter = 500 * time.Millisecond

// Scheduler runs jobs. Create it with New and keep its Run running.
type Scheduler struct {
	workers int
	wake    chan struct{}

	mu     sync.Mutex
	timers timequeue.Queue[*Task]
	hosts  map[string]*host // hosts that have work, or are slow
	turns  [2][]*host       // hosts with work that may run: quick ones and slow ones
	slow   int              // running jobs of slow hosts
	busy   int              // number of working workers
	flip   bool             // slow hosts are next
}

// Task is a job of a Scheduler.
type Task struct {
	Job
	due   time.Time
	timer timequeue.Entry[*Task] // in the queue, unless the task waits for a worker, or runs
	runs  bool                   // it is running
	again bool                   // it must run once more immediately
	slow  bool                   // Scheduler.slow includes it
	gone  bool                   // Remove has ended it
}

// host is the state of one called host.
type host struct {
	name    string
	waiting []*Task
	running int
	queued  bool // Scheduler.turns contains it
	slow    bool
}

// New returns a scheduler that runs at most workers jobs at the same time.
func New(workers int) *Scheduler {
	return &Scheduler{workers: workers, wake: make(chan struct{}, 1), hosts: map[string]*host{}}
}

// Add adds a job, which is due at once. It is safe to call while Run is running.
func (s *Scheduler) Add(j Job) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Task{Job: j}
	t.timer.Value = t
	s.plan(t, time.Now())
	return t
}

// Soon runs a job as soon as a worker is free; if the job is running, it runs once more.
func (s *Scheduler) Soon(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case t.runs:
		t.again = true
	case t.timer.Queued():
		s.plan(t, time.Now())
	}
}

// Remove ends the repetition of a job. A run that has begun continues to its end.
func (s *Scheduler) Remove(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.gone = true
	s.timers.Remove(&t.timer)
}

// plan schedules a job for a time, unless Remove has ended it. The caller holds mu.
func (s *Scheduler) plan(t *Task, due time.Time) {
	if t.gone {
		return
	}
	t.due = due
	s.timers.Set(&t.timer, due)
	wait.Notify(s.wake)
}

// Run runs the jobs until ctx ends, and waits for those that are running.
func (s *Scheduler) Run(ctx context.Context) error {
	var g sync.WaitGroup
	defer g.Wait()
	t := time.NewTimer(0)
	defer t.Stop()
	for ctx.Err() == nil {
		next, some := s.start(ctx, &g)
		t.Stop()
		if some {
			t.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-t.C:
		}
	}
	return nil
}

// start starts workers for the due jobs. It returns the time of the next job; some is false if
// there is none.
func (s *Scheduler) start(ctx context.Context, g *sync.WaitGroup) (next time.Time, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for e := s.timers.Due(now); e != nil; e = s.timers.Due(now) {
		s.ready(e.Value)
	}
	for s.busy < s.workers {
		t := s.take()
		if t == nil {
			break
		}
		s.busy++
		g.Go(func() { s.work(ctx, t) })
	}
	first, next := s.timers.Next()
	return next, first != nil
}

// work runs a job, and then other due jobs.
func (s *Scheduler) work(ctx context.Context, t *Task) {
	for t != nil {
		begun := time.Now()
		within, cancel := ctx, context.CancelFunc(func() {})
		if !t.slow {
			within, cancel = context.WithTimeout(ctx, slowAfter)
		}
		t.Do(within)
		cancel()
		t = s.done(t, time.Since(begun), ctx.Err() == nil)
	}
}

// done schedules a job again and returns the next job for its worker.
func (s *Scheduler) done(t *Task, took time.Duration, more bool) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[t.Host]
	h.running--
	if t.slow {
		s.slow--
	} else if took >= slowAfter {
		t.again = true
	}
	h.slow = took >= slowAfter
	s.queue(h)
	if h.running == 0 && len(h.waiting) == 0 && !h.slow {
		delete(s.hosts, h.name)
	}
	now := time.Now()
	due := t.due.Add(t.Every - rand.N(t.Every/10+1))
	if t.again || due.Before(now) {
		due = now
	}
	t.runs, t.again = false, false
	s.plan(t, due)
	next := (*Task)(nil)
	if more {
		next = s.take()
	}
	if next == nil {
		s.busy--
	}
	return next
}

// ready queues a job for a worker. The caller holds mu, here and below.
func (s *Scheduler) ready(t *Task) {
	h := s.hosts[t.Host]
	if h == nil {
		h = &host{name: t.Host}
		s.hosts[t.Host] = h
	}
	h.waiting = append(h.waiting, t)
	s.queue(h)
}

// queue lets a host take its turn if one of its jobs may run.
func (s *Scheduler) queue(h *host) {
	if h.queued || len(h.waiting) == 0 || h.running >= max(1, h.waiting[0].AtOnce) {
		return
	}
	h.queued = true
	n := class(h.slow)
	s.turns[n] = append(s.turns[n], h)
}

// class returns the index in Scheduler.turns.
func class(slow bool) int {
	if slow {
		return 1
	}
	return 0
}

// take returns a job that may run now, nil if there is none. Slow hosts and quick ones take
// turns while there are both.
func (s *Scheduler) take() *Task {
	s.flip = !s.flip
	for _, slow := range []bool{s.flip, !s.flip} {
		n := class(slow)
		for len(s.turns[n]) > 0 && (!slow || s.slow < max(1, s.workers/2)) {
			h := s.turns[n][0]
			s.turns[n] = s.turns[n][1:]
			h.queued = false
			if h.slow != slow { // it has changed since
				s.queue(h)
				continue
			}
			t := h.waiting[0]
			h.waiting = h.waiting[1:]
			if t.gone {
				if s.queue(h); !h.queued && h.running == 0 && !h.slow {
					delete(s.hosts, h.name)
				}
				continue
			}
			h.running++
			t.runs, t.slow = true, slow
			if slow {
				s.slow++
			}
			s.queue(h)
			return t
		}
	}
	return nil
}
