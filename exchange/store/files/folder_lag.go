package files

import (
	"context"
	"time"
)

// The folders follow the log within some seconds. Where steps come faster than the folders
// can follow, each step waits a moment for them when it is on the disk.
const (
	// mostLag is how far the folders may be behind the log before steps wait for them. A
	// thread that is late then is written within the rest of five seconds.
	maxLag = 2500 * time.Millisecond
	// mostBehind is how many threads may be behind the log before steps wait for them.
	maxBehind = 8192
	// lateWait is how long one step waits while the folders are late, so that they get their
	// share of the processor and of the disk, and fullWait while there are too many. An
	// executor that asks for permission to act must get the answer while it is fresh.
	lagWait   = 20 * time.Millisecond
	queueWait = 250 * time.Millisecond
)

// Lag is how many threads have steps that their folders do not show yet, and for how long the
// oldest of these steps has been in the log.
func (s *Store) Lag() (threads int, oldest time.Duration) {
	p := s.project
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, since := range p.behind {
		oldest = max(oldest, now.Sub(since))
	}
	return len(p.behind), oldest
}

// startFolder notes that a thread's folder is being brought after the log, and returns since when
// it is behind. Steps from now on may come too late for it.
func (p *projector) startFolder(ref string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.behind[ref]
	delete(p.behind, ref)
	return since
}

// retryFolder notes that a thread's folder could not be brought after the log.
func (p *projector) retryFolder(ref string, since time.Time) {
	if since.IsZero() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind[ref] = since
}

// isLate reports whether the folders are so far behind that steps wait. p.mu is held.
func (p *projector) isLate(now time.Time) bool {
	return p.to != nil && len(p.queue) > 0 && (now.Sub(p.queue[0].at) > maxLag || len(p.queue) > maxBehind)
}

// updatePressure lets steps go on, or has them wait.
func (p *projector) updatePressure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch late := p.isLate(time.Now()); {
	case late && p.caughtUp == nil:
		p.caughtUp = make(chan struct{})
	case !late && p.caughtUp != nil:
		close(p.caughtUp)
		p.caughtUp = nil
	}
}

// waitForFolders waits until the folders are not late any more. The step that calls it is on the disk.
func (p *projector) waitForFolders(ctx context.Context) {
	p.mu.Lock()
	level, wait := p.caughtUp, lagWait
	if len(p.queue) > maxBehind {
		wait = queueWait
	}
	p.mu.Unlock()
	if level == nil {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-level:
	case <-t.C:
	case <-ctx.Done():
	}
}
