package files

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// noteEnded notes a thread that has ended and that its folder has.
func (p *projector) noteEnded(w loadedThread) {
	if !w.env.Status.Terminal() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.endedThreads) == 0 {
		p.since = time.Now()
	}
	p.endedThreads[w.env.Ref] = w.env.Ver
	if n := len(p.endedThreads); n == 1 || n == releaseMany {
		wait.Notify(p.noted)
	}
}

// runReleases releases the threads that have ended, until ctx ends. It does not run in the loop
// that writes the folders, because a sync takes seconds on a slow disk.
func (p *projector) runReleases(ctx context.Context) error {
	for ctx.Err() == nil {
		p.mu.Lock()
		rest := p.releaseIn(time.Now())
		p.mu.Unlock()
		if rest <= 0 {
			p.releaseEnded(ctx)
			continue
		}
		wait.ForSignal(ctx, rest, p.noted)
	}
	return nil
}

// releaseIn returns the time until the next release of the threads that have ended. The caller
// holds p.mu.
func (p *projector) releaseIn(now time.Time) time.Duration {
	switch n := len(p.endedThreads); {
	case n == 0:
		return time.Hour // noted ends the wait
	case n >= releaseMany:
		return 0
	}
	waited := now.Sub(p.since)
	return min(releaseLate-waited, max(releaseAfter-waited, p.sinceLull(now)))
}

// releaseEnded syncs the folders, and then releases the threads that have ended: the log no
// longer needs them.
func (p *projector) releaseEnded(ctx context.Context) {
	p.mu.Lock()
	resting := p.endedThreads
	p.endedThreads = map[string]uint64{}
	p.mu.Unlock()
	if err := p.s.disk.Flush(); err != nil {
		p.logOnce("all", fmt.Errorf("sync: %w; messkit writes the folders of all threads in the log anew", err))
		p.s.rewriteAll(ctx)
		return
	}
	for ref, ver := range resting {
		if p.s.release(ref, ver) {
			p.s.recent.forget(ref)
			p.mu.Lock()
			delete(p.judged, ref)
			p.mu.Unlock()
		}
	}
	if err := p.s.keepEnded(ctx, endedAtOnce); err != nil {
		p.logOnce("all", err)
	}
	p.s.noteSynced(ctx)
	p.s.compactIfDue()
}

// release releases the records of a thread that its folder has. The index can still find the
// thread.
func (s *Store) release(ref string, ver uint64) bool {
	defer s.locks.Lock(ref)()
	return s.index.tryRelease(ref, ver)
}
