package keyed

import (
	"context"
	"sync"
	"time"
)

// Idle is the result of the work for a name without more work.
const Idle time.Duration = -1

// Runner does work by name: the pieces of one name one after the other, those of different names
// concurrently. Only names with work have a goroutine. The zero value is closed.
type Runner struct {
	mu    sync.Mutex
	work  func(name string) (again time.Duration) // nil: closed
	names map[string]*state
	group sync.WaitGroup
}

// state is a name with work.
type state struct {
	runs  bool
	woken bool        // there is work, or may be
	timer *time.Timer // wakes the name; nil: no timer
}

// Open calls work for each woken name, until Close. Work does one piece and returns the time
// until its next call, or Idle to wait for Wake.
func (r *Runner) Open(work func(name string) (again time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.work = work
	for name, s := range r.names {
		r.begin(name, s)
	}
}

// Close begins no more work. Running work continues, and names keep their remaining work for
// the next Open.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.work = nil
}

// Wait waits until no work runs.
func (r *Runner) Wait() { r.group.Wait() }

// Run does work until ctx ends, and waits for the running work.
func (r *Runner) Run(ctx context.Context, work func(ctx context.Context, name string) (again time.Duration)) {
	r.Open(func(name string) time.Duration { return work(ctx, name) })
	<-ctx.Done()
	r.Close()
	r.Wait()
}

// Wake makes the runner call work for a name: at once, or once more after the running call.
func (r *Runner) Wake(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.name(name)
	s.woken = true
	r.begin(name, s)
}

// Later wakes a name after a time, unless a wake-up is pending.
func (r *Runner) Later(name string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan(name, r.name(name), d)
}

// Busy reports whether a name has work that runs or waits.
func (r *Runner) Busy(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.names[name]
	return s != nil && (s.runs || s.woken)
}

func (r *Runner) name(name string) *state {
	s := r.names[name]
	if s == nil {
		s = &state{}
		if r.names == nil {
			r.names = map[string]*state{}
		}
		r.names[name] = s
	}
	return s
}

// plan is Later. The caller holds r.mu, as in all functions below.
func (r *Runner) plan(name string, s *state, d time.Duration) {
	if s.timer == nil {
		s.timer = time.AfterFunc(d, func() { r.Wake(name) })
	}
}

func (r *Runner) begin(name string, s *state) {
	if r.work != nil && s.woken && !s.runs {
		s.runs = true
		r.group.Go(func() { r.run(name, s) })
	}
}

// run does the work of a name until none is left, or until Close.
func (r *Runner) run(name string, s *state) {
	for {
		work := r.next(name, s)
		if work == nil {
			return
		}
		r.done(name, s, work(name))
	}
}

func (r *Runner) next(name string, s *state) func(string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.work == nil || !s.woken {
		s.runs = false
		if !s.woken && s.timer == nil {
			delete(r.names, name)
		}
		return nil
	}
	s.woken = false
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	return r.work
}

func (r *Runner) done(name string, s *state, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case again == 0 || again > 0 && r.work == nil: // the next Open does not wait
		s.woken = true
	case again > 0:
		r.plan(name, s, again)
	}
}
