package files

import (
	"context"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
)

// The folders follow the log within some seconds. If steps arrive faster than that, new threads wait
// a moment before they begin, and the store refuses those beyond a few, so that it finishes what it
// has. The steps of a thread in work do not wait unless very many threads are behind: an executor
// must get its start permission in time.
const (
	// maxLag is the lag of the folders from which new threads wait for them. It is long enough for a
	// disk that other programs keep busy for some seconds.
	maxLag = 8 * time.Second
	// maxBehind is the number of queued threads from which all steps wait for the folders.
	maxBehind = 8192
	// lagWait is the longest time that one step waits, so that the folders get their share of the
	// processor and of the disk.
	lagWait = 250 * time.Millisecond
	// maxWaiting is the number of new threads that may wait at the same time after maxLag. Each holds
	// a connection of its client, which may need it for other steps.
	maxWaiting = 16
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
	over    chan struct{} // closed when the folders are no longer late
	all     bool          // too many threads are behind: all steps wait, not only new threads
	old     bool          // a thread has been behind for too long: only a few new threads may wait
	waiting int           // new threads that wait
}

// updatePressure makes steps wait while the folders are late, and releases them afterwards.
func (p *projector) updatePressure() {
	now := time.Now()
	isOld := func(queue []marked) bool { return len(queue) > 0 && now.Sub(queue[0].at) > maxLag }
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pressure.all = p.to != nil && len(p.queue)+len(p.open) > maxBehind
	p.pressure.old = p.to != nil && (isOld(p.queue) || isOld(p.open))
	switch late := p.pressure.all || p.pressure.old; {
	case late && p.pressure.over == nil:
		p.pressure.over = make(chan struct{})
	case !late && p.pressure.over != nil:
		close(p.pressure.over)
		p.pressure.over = nil
	}
}

// waitForFolders waits before a step until the folders are no longer late, for at most lagWait.
// isNew reports whether the step begins a thread. It returns ErrBusy for a new thread if a thread
// has been behind for long, and enough new ones wait already.
func (p *projector) waitForFolders(ctx context.Context, isNew bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	over := p.pressure.over
	switch {
	case over == nil || !isNew && !p.pressure.all:
		return nil
	case isNew && p.pressure.old && p.pressure.waiting >= maxWaiting:
		return thread.ErrBusy
	case isNew:
		p.pressure.waiting++
		defer func() { p.pressure.waiting-- }()
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	if !wait.ForSignal(ctx, lagWait, over) {
		return ctx.Err()
	}
	return nil
}
