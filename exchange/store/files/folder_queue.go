package files

import (
	"context"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/shrink"
	"github.com/messkit/messkit/internal/wait"
)

// marked is a thread whose folder lacks steps, and the time when it entered its queue.
type marked struct {
	ref string
	at  time.Time
}

// The projector waits after a step, because most threads take further steps soon, and one write
// covers them all. It then waits for a lull, so that requests share neither the disk nor the
// processor with the folders. The wait ends after maxGather at the latest. For a thread that has
// not ended it ends after openGather: under load, a thread then costs one write instead of three,
// and no file gives way to another. ext4 searches long for a free inode after many have gone.
const (
	gatherTime = 250 * time.Millisecond
	lullTime   = 25 * time.Millisecond
	maxGather  = time.Second
	openGather = 3 * time.Second
)

// mark queues a thread's folder for an update. ended reports whether the thread has ended: then
// its folder comes before those of open threads.
func (p *projector) mark(ref string, ended bool) {
	p.mu.Lock()
	p.last = time.Now()
	if _, is := p.behind[ref]; !is {
		p.behind[ref] = p.last
	}
	first := len(p.queue)+len(p.open) == 0
	switch {
	case ended: // its entry in open, if there is one, then finds it done
		p.queue = append(p.queue, marked{ref, p.last})
	case !p.queued[ref]:
		p.open = append(p.open, marked{ref, p.last})
	}
	p.queued[ref] = true
	p.mu.Unlock()
	if first { // else a wake-up is due already
		p.wakeUp()
	}
}

// checkAfter schedules a check of a thread's folder after d.
func (p *projector) checkAfter(ref string, d time.Duration) {
	p.mu.Lock()
	p.due[ref] = time.Now().Add(d)
	p.mu.Unlock()
	p.wakeUp()
}

// enqueue puts a thread ahead of the queue. The caller holds p.mu.
func (p *projector) enqueue(ref string) {
	p.queued[ref] = true
	p.priority = append(p.priority, ref)
}

func (p *projector) wakeUp() {
	wait.Notify(p.wake)
}

// next returns the next thread to process. If there is none now, it returns an empty ref and the
// time until the next check.
func (p *projector) next() (ref string, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	wait = p.enqueueDue(now)
	p.queue, p.open = p.withoutDone(p.queue), p.withoutDone(p.open)
	if len(p.priority)+len(p.queue)+len(p.open) == 0 && len(p.lowPriority) > 0 {
		p.enqueue(p.lowPriority[0])
		p.lowPriority = p.lowPriority[1:]
	}
	from, most := p.first(now)
	switch p.busy = true; {
	case len(p.priority) > 0:
		ref, p.priority = p.priority[0], p.priority[1:]
	case from != nil:
		if more := p.waits(now, (*from)[0], most); more > 0 {
			return "", min(wait, more)
		}
		ref, *from = (*from)[0].ref, (*from)[1:]
	default:
		p.busy = false
		p.idle.Broadcast()
		return "", wait
	}
	delete(p.queued, ref)
	p.queued = shrink.Fit(p.queued, &p.peaks.queued)
	return ref, 0
}

// withoutDone removes the threads from the front of a queue that are done already: through another
// queue.
func (p *projector) withoutDone(queue []marked) []marked {
	for len(queue) > 0 && !p.queued[queue[0].ref] {
		queue = queue[1:]
	}
	return queue
}

// first returns the queue whose first thread is next, nil if both are empty, and the longest time
// that this thread waits. An open thread that has waited long enough goes before an ended one that
// came later. The caller holds p.mu.
func (p *projector) first(now time.Time) (from *[]marked, most time.Duration) {
	switch {
	case len(p.open) > 0 && (len(p.queue) == 0 || now.Sub(p.open[0].at) > openGather && p.open[0].at.Before(p.queue[0].at)):
		return &p.open, openGather
	case len(p.queue) > 0:
		return &p.queue, maxGather
	}
	return nil, 0
}

// waits returns the time that the first thread of a queue still waits, if it waits for most at
// most. The caller holds p.mu.
func (p *projector) waits(now time.Time, first marked, most time.Duration) time.Duration {
	if p.isUrgent() {
		return 0
	}
	waited := now.Sub(first.at)
	return min(most-waited, max(gatherTime-waited, p.sinceLull(now)))
}

// isUrgent reports whether the folders must show every step immediately. The caller holds p.mu.
func (p *projector) isUrgent() bool { return p.to == nil || p.urgent > 0 }

// sinceLull returns the minimum time until the next lull, or 0 during a lull. The caller holds
// p.mu.
func (p *projector) sinceLull(now time.Time) time.Duration {
	if p.steps.Load() > 0 {
		return lullTime
	}
	return max(0, lullTime-now.Sub(p.last))
}

// yieldTime returns the time for which the projector yields to concurrent steps after it took
// that long for a folder. It is 0 if the folders are far behind.
func (p *projector) yieldTime(took time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if from, most := p.first(now); from != nil && !p.isUrgent() && p.sinceLull(now) > 0 && now.Sub((*from)[0].at) < most+maxGather/2 {
		return min(4*took, maxYield)
	}
	return 0
}

// maxYield limits the wait after one slow write.
const maxYield = 10 * time.Millisecond

// scanEvery is the minimum time between two searches for due threads.
const scanEvery = 20 * time.Millisecond

// enqueueDue queues the due threads, and returns the time until the next one is due. The caller
// holds p.mu.
func (p *projector) enqueueDue(now time.Time) time.Duration {
	wait := time.Hour
	if len(p.due) == 0 {
		return wait
	}
	if since := now.Sub(p.scanned); since >= 0 && since < scanEvery {
		return scanEvery - since
	}
	p.scanned = now
	for ref, t := range p.due {
		if d := t.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		delete(p.due, ref)
		p.enqueue(ref)
	}
	return wait
}

// checkLater queues threads to process when all other queues are empty.
func (p *projector) checkLater(refs []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lowPriority = append(p.lowPriority, refs...)
}

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
	p.behind = shrink.Fit(p.behind, &p.peaks.behind)
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
