package files

import (
	"context"
	"time"
)

// The folders follow the log within some seconds. If steps arrive faster than that, each new thread
// waits a moment for the folders after the log has it. The steps of a thread in work do not wait:
// an executor must get its start permission in time, and a wait there holds up more than it saves.
const (
	// maxLag is the lag of the folders of ended threads from which new threads wait for them, and
	// maxOpenLag that of the folders of open threads. The projector then writes a late thread within
	// the rest of five seconds.
	maxLag     = maxGather + 1500*time.Millisecond
	maxOpenLag = openGather + 1000*time.Millisecond
	// maxBehind is the number of queued threads from which all steps wait for the folders.
	maxBehind = 8192
	// lagWait is the longest time that one step waits, so that the folders get their share of the
	// processor and of the disk.
	lagWait = 250 * time.Millisecond
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

// pressure says which steps wait for the folders.
type pressure struct {
	over chan struct{} // closed when the folders are no longer late
	all  bool          // all steps wait, not only new threads
}

// isLate reports whether the folders are so far behind the log that new threads, or all steps, must
// wait. The caller holds p.mu.
func (p *projector) isLate(now time.Time) (late, all bool) {
	if p.to == nil {
		return false, false
	}
	behind := func(queue []marked, most time.Duration) bool { return len(queue) > 0 && now.Sub(queue[0].at) > most }
	all = len(p.queue)+len(p.open) > maxBehind
	return all || behind(p.queue, maxLag) || behind(p.open, maxOpenLag), all
}

// updatePressure makes steps wait while the folders are late, and releases them afterwards.
func (p *projector) updatePressure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	late, all := p.isLate(time.Now())
	switch {
	case late && p.pressure.over == nil:
		p.pressure.over = make(chan struct{})
	case !late && p.pressure.over != nil:
		close(p.pressure.over)
		p.pressure.over = nil
	}
	p.pressure.all = all
}

// waitForFolders waits until the folders are no longer late, for at most lagWait. The log already
// has the step that calls it; isNew reports whether the step begins a thread.
func (p *projector) waitForFolders(ctx context.Context, isNew bool) {
	p.mu.Lock()
	now := p.pressure
	p.mu.Unlock()
	if now.over == nil || !isNew && !now.all {
		return
	}
	t := time.NewTimer(lagWait)
	defer t.Stop()
	select {
	case <-now.over:
	case <-t.C:
	case <-ctx.Done():
	}
}
