package files

import (
	"context"
	"fmt"
	"time"
)

// settled notes a thread that has ended and is in its folder.
func (p *projector) settled(w whole) {
	if !w.env.Status.Terminal() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.resting) == 0 {
		p.since = time.Now()
	}
	p.resting[w.env.Ref] = w.env.Ver
}

func (p *projector) restDue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.resting) > 0 && p.restIn(time.Now()) <= 0
}

// restIn is in how long the threads that have ended are let go. p.mu is held.
func (p *projector) restIn(now time.Time) time.Duration {
	if len(p.resting) >= restMany {
		return 0
	}
	waited := now.Sub(p.since)
	return min(restLate-waited, max(restAfter-waited, p.loud(now)))
}

// rest lets go of the threads that have ended, when their folders are on the
// disk: from then on the log need not know them.
func (p *projector) rest(ctx context.Context) {
	p.mu.Lock()
	resting := p.resting
	p.resting = map[string]uint64{}
	p.mu.Unlock()
	if err := p.s.disk.sync(); err != nil {
		p.complain("all", fmt.Errorf("sync: %w; the folders of all threads in the log are written anew", err))
		p.s.distrust(ctx)
		return
	}
	for ref, ver := range resting {
		if p.s.letGo(ref, ver) {
			p.s.recent.forget(ref)
			p.mu.Lock()
			delete(p.handed, ref)
			p.mu.Unlock()
		}
	}
	if err := p.s.keepEnded(ctx, endedAtOnce); err != nil {
		p.complain("all", err)
	}
	p.s.trust(ctx)
	p.s.grown()
}

// letGo leaves so much of a thread in memory that it is found.
func (s *Store) letGo(ref string, ver uint64) bool {
	defer s.locks.Lock(ref)()
	return s.index.done(ref, ver)
}
