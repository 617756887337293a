package files

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// again is when something is tried again that another program has hindered,
	// or the disk.
	retrySoon = 300 * time.Millisecond
	// later is when something is tried again that the disk has refused.
	retryLater = 5 * time.Second
	// restAfter is how long threads that have ended are kept in the log before
	// their folders are synced and they are let go. Under load it is restLate, or
	// until there are restMany: what waits for the log's sync waits for this one too.
	releaseAfter = 3 * time.Second
	releaseLate  = 30 * time.Second
	releaseMany  = 8192
)

// projector brings the folders after the log.
type projector struct {
	s *Store

	steps        atomic.Int32 // that are being stored: the folders give way to them
	mu           sync.Mutex
	priority     []string             // refs to be looked at before the queue
	queue        []marked             // refs to be looked at, those that soon had meanwhile among them
	lowPriority  []string             // refs to be looked at when there is nothing else to do
	queued       map[string]bool      // what is in soon or in queue
	behind       map[string]time.Time // since when a thread has steps that its folder does not show
	caughtUp     chan struct{}        // closed when the folders are not late any more; nil while they are not
	due          map[string]time.Time // refs to be looked at, not before
	scanned      time.Time            // when due was looked through
	endedThreads map[string]uint64    // ended and in their folders, by version
	since        time.Time            // of the oldest of them
	busy         bool                 // one is being worked on
	last         time.Time            // when a thread was marked last
	urgent       int                  // how many wait until the folders show everything
	judged       map[string]map[string]bool
	ignored      map[string]ignoredThread // by ref, the threads that are left alone
	logged       map[string]string        // ref, or file, to what was said about it
	wake         chan struct{}
	idle         *sync.Cond
	to           Listener // nil until Run
}

// marked is a thread whose folder is to be brought after the log.
type marked struct {
	ref string
	at  time.Time
}

// A thread waits a while after a step: most take their next steps soon, which are
// then written with this one. After that it waits for a lull, so that requests
// share neither the disk nor the processor with the folders, but not for ever.
const (
	gatherTime = 250 * time.Millisecond
	lullTime   = 25 * time.Millisecond
	maxGather  = time.Second
)

func newProjector(s *Store) *projector {
	p := &projector{
		s: s, queued: map[string]bool{}, behind: map[string]time.Time{}, due: map[string]time.Time{}, endedThreads: map[string]uint64{},
		judged: map[string]map[string]bool{}, ignored: map[string]ignoredThread{}, logged: map[string]string{}, wake: make(chan struct{}, 1),
	}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// mark has a thread's folder brought after the log.
func (p *projector) mark(ref string) {
	p.mu.Lock()
	p.last = time.Now()
	if _, is := p.behind[ref]; !is {
		p.behind[ref] = p.last
	}
	if !p.queued[ref] {
		p.queued[ref] = true
		p.queue = append(p.queue, marked{ref, p.last})
	}
	first := len(p.queue) == 1
	p.mu.Unlock()
	if first { // else it is known when to look
		p.wakeUp()
	}
}

// checkAfter has a thread's folder looked at after d.
func (p *projector) checkAfter(ref string, d time.Duration) {
	p.mu.Lock()
	p.due[ref] = time.Now().Add(d)
	p.mu.Unlock()
	p.wakeUp()
}

// enqueue has a thread's folder looked at next. p.mu is held.
func (p *projector) enqueue(ref string) {
	p.queued[ref] = true
	p.priority = append(p.priority, ref)
}

func (p *projector) wakeUp() {
	wait.Notify(p.wake)
}

// next is the next thread to be looked at, or how long there is none.
func (p *projector) next() (ref string, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	wait = p.enqueueDue(now)
	for len(p.queue) > 0 && !p.queued[p.queue[0].ref] {
		p.queue = p.queue[1:] // it was looked at meanwhile
	}
	if len(p.priority)+len(p.queue) == 0 && len(p.lowPriority) > 0 {
		p.enqueue(p.lowPriority[0])
		p.lowPriority = p.lowPriority[1:]
	}
	if len(p.endedThreads) > 0 {
		wait = min(wait, max(time.Millisecond, p.releaseIn(now)))
	}
	switch p.busy = true; {
	case len(p.priority) > 0:
		ref, p.priority = p.priority[0], p.priority[1:]
	case len(p.queue) > 0:
		if more := p.waits(now); more > 0 {
			return "", min(wait, more)
		}
		ref, p.queue = p.queue[0].ref, p.queue[1:]
	default:
		p.busy = false
		p.idle.Broadcast()
		return "", wait
	}
	delete(p.queued, ref)
	return ref, 0
}

// waits is how long the first of the queue waits still. p.mu is held.
func (p *projector) waits(now time.Time) time.Duration {
	if p.isUrgent() {
		return 0
	}
	waited := now.Sub(p.queue[0].at)
	return min(maxGather-waited, max(gatherTime-waited, p.sinceLull(now)))
}

// isUrgent reports whether the folders are to show everything at once. p.mu is
// held.
func (p *projector) isUrgent() bool { return p.to == nil || p.urgent > 0 }

// sinceLull is how long it takes at least until there is a lull; 0 if there is one.
// p.mu is held.
func (p *projector) sinceLull(now time.Time) time.Duration {
	if p.steps.Load() > 0 {
		return lullTime
	}
	return max(0, lullTime-now.Sub(p.last))
}

// yieldTime is how long to let others work who take steps meanwhile: some times as
// long as the last folder took, and the less the further the folders are behind.
func (p *projector) yieldTime(took time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); len(p.queue) > 0 && !p.isUrgent() && p.sinceLull(now) > 0 {
		if now.Sub(p.queue[0].at) < 2*maxGather {
			return min(4*took, maxYield)
		}
	}
	return 0
}

// maxYield keeps one slow write from being followed by a long wait.
const maxYield = 10 * time.Millisecond

// scanEvery is how often it is looked which threads are due.
const scanEvery = 20 * time.Millisecond

// enqueueDue puts what is due into the queue, and says when the next one is. p.mu is
// held.
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

// checkLater has threads looked at when there is nothing else to do.
func (p *projector) checkLater(refs []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lowPriority = append(p.lowPriority, refs...)
}

// run brings folders after the log until ctx ends.
func (p *projector) run(ctx context.Context) error {
	for ctx.Err() == nil {
		ref, rest := p.next()
		p.updatePressure()
		if ref != "" {
			began := time.Now()
			p.process(ctx, ref)
			wait.For(ctx, p.yieldTime(time.Since(began)))
		}
		if p.releaseDue() {
			p.releaseEnded(ctx)
		}
		if ref != "" {
			continue
		}
		t := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-p.wake:
		}
		t.Stop()
	}
	return nil
}

// process looks at one thread. What other programs have put into its folder must not end
// the store.
func (p *projector) process(ctx context.Context, ref string) {
	defer mistake.Caught(p.s.cfg.Log, "ref", ref)
	since := p.startFolder(ref)
	known, inLog := p.s.index.has(ref)
	var err error
	switch {
	case inLog:
		err = p.updateFolder(ctx, ref)
	case known:
		err = p.s.checkEnded(ref)
	default:
		err = p.s.importExternal(ctx, ref)
	}
	if err != nil {
		p.retryFolder(ref, since)
	}
	switch {
	case errors.Is(err, errBusy):
		p.checkAfter(ref, retrySoon)
	case isIgnored(err):
		p.logOnce(ref, err) // it is looked at when it changes
	case err != nil:
		p.logOnce(ref, err)
		p.checkAfter(ref, retryLater)
	default:
		p.mu.Lock()
		delete(p.logged, ref)
		p.mu.Unlock()
	}
}

// logOnce says what is wrong, once.
func (p *projector) logOnce(what string, err error) {
	p.mu.Lock()
	told := p.logged[what] == err.Error()
	p.logged[what] = err.Error()
	p.mu.Unlock()
	if !told {
		p.s.cfg.Log.Warn("a thread's folder cannot be written or read now", "ref", what, "err", err)
	}
}

// logIgnored says what lies among the threads and is none, once.
func (p *projector) logIgnored(what messeaf.Problem) {
	p.mu.Lock()
	told := p.logged[what.File] == what.Text
	p.logged[what.File] = what.Text
	p.mu.Unlock()
	if !told {
		p.s.cfg.Log.Warn("this is not taken for a thread", "err", what)
	}
}

// updateFolder brings one thread's folder after the log, and takes what others have
// said there.
func (p *projector) updateFolder(ctx context.Context, ref string) error {
	w, ok, err := p.s.read(ref)
	if !ok || err != nil {
		return err
	}
	f := w.folder
	if f.rewrite || !f.fresh && !p.s.unchanged(ref, f) || f.flat && f.ver != w.env.Ver || f.ver == w.env.Ver && len(p.s.places(ref)) > 1 {
		var said []mess.Message
		f, said, err = p.s.reconcile(w)
		switch {
		case errors.Is(err, errArchived):
			return p.s.store(ctx, []record{{Gone: ref}})
		case err != nil:
			return err
		}
		if len(said) > 0 {
			return p.judge(ctx, ref, said)
		}
	}
	f, err = p.s.writeFolder(w, f)
	p.s.index.noteFolder(ref, f) // also after an error: what is not known is looked at anew
	p.s.watcher.thread(p.s, ref, f)
	if err != nil {
		return err
	}
	p.noteEnded(w)
	return nil
}

// isUnjudged reports whether what others have said is to be judged: once.
func (p *projector) isUnjudged(ref string, m mess.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to != nil && !p.judged[ref][messeaf.Fingerprint(m)]
}

// judge hands over what others have said.
func (p *projector) judge(ctx context.Context, ref string, said []mess.Message) error {
	for _, m := range said {
		p.s.cfg.Log.Info("another program has put a message into a thread", "ref", ref, "from", m.From)
		if err := p.to.PostExternal(ctx, ref, m); err != nil {
			return err
		}
		p.mu.Lock()
		if p.judged[ref] == nil {
			p.judged[ref] = map[string]bool{}
		}
		p.judged[ref][messeaf.Fingerprint(m)] = true
		p.mu.Unlock()
	}
	p.mark(ref)
	return nil
}

// Settle waits until the folders show what is in the log. Run must be running.
func (s *Store) Settle(ctx context.Context) error {
	p := s.project
	stop := context.AfterFunc(ctx, func() { p.mu.Lock(); defer p.mu.Unlock(); p.idle.Broadcast() })
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urgent++
	defer func() { p.urgent-- }()
	p.wakeUp()
	for (len(p.priority)+len(p.queue) > 0 || len(p.lowPriority) > 0 || p.busy || len(p.due) > 0) && ctx.Err() == nil {
		p.idle.Wait()
	}
	return ctx.Err()
}

// finish brings the folders after the log for the last time.
func (p *projector) finish() error {
	if p.s.log.Err() != nil {
		return nil
	}
	ctx := context.Background()
	p.mu.Lock()
	p.to, p.due, p.lowPriority = nil, map[string]time.Time{}, nil
	p.mu.Unlock()
	for {
		ref, _ := p.next()
		if ref == "" {
			break
		}
		if _, inLog := p.s.index.has(ref); !inLog {
			continue
		}
		if err := p.updateFolder(ctx, ref); err != nil && !errors.Is(err, errBusy) {
			p.logOnce(ref, err)
		}
	}
	p.releaseEnded(ctx)
	return errors.Join(p.s.keepEnded(ctx, 1), p.s.compactAtClose(ctx))
}
