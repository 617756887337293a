package files

import (
	"context"
	"time"
)

// The folders follow the log within some seconds. If steps arrive faster than that, each step
// waits a moment for the folders after the log has it.
const (
	// maxLag is the lag of the folders from which steps wait for them. The projector then writes
	// a late thread within the rest of five seconds.
	maxLag = 2500 * time.Millisecond
	// maxBehind is the number of queued threads from which steps wait for the folders.
	maxBehind = 8192
	// lagWait is the time that one step waits while the folders are late, so that they get their
	// share of the processor and of the disk. A step waits for queueWait while more than
	// maxBehind threads wait. Both are short, because an executor must get its start permission
	// in time.
	lagWait   = 20 * time.Millisecond
	queueWait = 250 * time.Millisecond
)

// Lag returns the number of threads with steps that their folders do not show yet, and the time
// that the oldest of these steps has been in the log.
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

// startFolder notes that the projector begins to write a thread's folder. It returns the time of
// the oldest step that the folder lacks. The folder may miss steps that are stored from now on.
func (p *projector) startFolder(ref string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.behind[ref]
	delete(p.behind, ref)
	return since
}

// retryFolder notes that the projector could not write a thread's folder.
func (p *projector) retryFolder(ref string, since time.Time) {
	if since.IsZero() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind[ref] = since
}

// isLate reports whether the folders are so far behind the log that steps must wait. The caller
// holds p.mu.
func (p *projector) isLate(now time.Time) bool {
	return p.to != nil && len(p.queue) > 0 && (now.Sub(p.queue[0].at) > maxLag || len(p.queue) > maxBehind)
}

// updatePressure makes steps wait while the folders are late, and releases them afterwards.
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

// waitForFolders waits until the folders are no longer late, for at most lagWait or queueWait.
// The log already has the step that calls it.
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
