package keyed

import (
	"context"
	"sync"
	"time"
)

// Idle is what the work for a name returns if there is nothing left to do.
const Idle time.Duration = -1

// Runner does work by name: for one name one piece after the other, for different names at
// the same time. Only names with work have a goroutine. The zero value is closed.
type Runner struct {
	mu    sync.Mutex
	work  func(name string) (again time.Duration) // nil: the runner is closed
	names map[string]*state
	group sync.WaitGroup
}

// state is a name with work.
type state struct {
	runs  bool
	woken bool        // there is work, or may be
	timer *time.Timer // wakes the name; nil: nothing is planned
}

// Open has work called for each name that was woken, until Close. Work does one piece. It
// returns after which time it has to be called again, Idle if only Wake makes that
// necessary.
func (r *Runner) Open(work func(name string) (again time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.work = work
	for name, s := range r.names {
		r.begin(name, s)
	}
}

// Close begins no more work. What runs goes on, and names with more work keep it for the next
// Open.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.work = nil
}

// Wait waits until no work runs.
func (r *Runner) Wait() { r.group.Wait() }

// Run does work until ctx ends, and waits for what runs then.
func (r *Runner) Run(ctx context.Context, work func(ctx context.Context, name string) (again time.Duration)) {
	r.Open(func(name string) time.Duration { return work(ctx, name) })
	<-ctx.Done()
	r.Close()
	r.Wait()
}

// Wake has work called for a name: at once, or once more if it runs just now.
func (r *Runner) Wake(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.name(name)
	s.woken = true
	r.begin(name, s)
}

// Later wakes a name after a time, unless that is planned already.
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

// plan is Later. r.mu is held, as in all below.
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

// run does the work of a name until there is none, or the runner is closed.
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
