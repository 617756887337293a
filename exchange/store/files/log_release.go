package files

import (
	"context"
	"fmt"
	"time"
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
}

func (p *projector) releaseDue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.endedThreads) > 0 && p.releaseIn(time.Now()) <= 0
}

// releaseIn returns the time until the next release of the threads that have ended. The caller
// holds p.mu.
func (p *projector) releaseIn(now time.Time) time.Duration {
	if len(p.endedThreads) >= releaseMany {
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
	if err := p.s.disk.sync(); err != nil {
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
