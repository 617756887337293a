package files

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/shrink"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// retrySoon is the delay before a retry after another program or the disk interfered.
	retrySoon = 300 * time.Millisecond
	// retryLater is the delay before a retry after an error of the disk.
	retryLater = 5 * time.Second
	// releaseAfter is the time that threads that have ended stay in the log before the projector
	// syncs their folders and releases them. Under load it is releaseLate, or less with
	// releaseMany such threads, because a step that waits for the log's sync also waits for this
	// one.
	releaseAfter = 3 * time.Second
	releaseLate  = 30 * time.Second
	releaseMany  = 8192
)

// projector writes the steps in the log to the folders of the threads.
type projector struct {
	s *Store

	steps        atomic.Int32 // steps in progress; the folders give way to them
	mu           sync.Mutex
	priority     []string             // refs to process before the queues
	queue        []marked             // refs to process; a ref that queued lacks is done already
	open         []marked             // the same, of threads that will change again
	lowPriority  []string             // refs to process when all other queues are empty
	queued       map[string]bool      // refs in priority, queue or open
	behind       map[string]time.Time // time of the oldest step that a thread's folder lacks
	pressure     pressure             // which steps wait for the folders
	peaks        struct{ queued, behind shrink.Peak }
	due          map[string]time.Time // earliest time at which to process a ref
	scanned      time.Time            // time of the last search in due
	endedThreads map[string]uint64    // ended and in their folders, by version
	since        time.Time            // of the oldest of them
	noted        chan struct{}        // a release may be due
	writing      sync.Mutex           // one folder is being written; before mu
	busy         bool                 // a ref is in progress
	last         time.Time            // time of the last mark
	urgent       int                  // number of callers of Settle
	judged       map[string]map[string]bool
	ignored      map[string]ignoredThread // by ref, threads of other programs that the store does not import
	logged       map[string]string        // by ref or file, the last text in the log output
	wake         chan struct{}
	idle         *sync.Cond
	to           Listener // nil until Run
}

func newProjector(s *Store) *projector {
	p := &projector{
		s: s, queued: map[string]bool{}, behind: map[string]time.Time{}, due: map[string]time.Time{}, endedThreads: map[string]uint64{},
		judged: map[string]map[string]bool{}, ignored: map[string]ignoredThread{}, logged: map[string]string{}, wake: make(chan struct{}, 1), noted: make(chan struct{}, 1),
	}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// run updates folders until ctx ends.
func (p *projector) run(ctx context.Context) error {
	for ctx.Err() == nil {
		ref, rest := p.next()
		p.updatePressure()
		if ref != "" {
			began := time.Now()
			p.process(ctx, ref)
			wait.For(ctx, p.yieldTime(time.Since(began)))
			continue
		}
		wait.ForSignal(ctx, rest, p.wake)
	}
	return nil
}

// process updates or imports one thread. It recovers from a panic, because a file of another
// program must not stop the store.
func (p *projector) process(ctx context.Context, ref string) {
	defer mistake.Caught(p.s.cfg.Log, "ref", ref)
	p.writing.Lock()
	defer p.writing.Unlock()
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
		p.logOnce(ref, err) // the next change of the thread triggers another check
	case err != nil:
		p.logOnce(ref, err)
		p.checkAfter(ref, retryLater)
	default:
		p.mu.Lock()
		delete(p.logged, ref)
		p.mu.Unlock()
	}
}

// logOnce logs an error of a thread or file once.
func (p *projector) logOnce(what string, err error) {
	p.mu.Lock()
	logged := p.logged[what] == err.Error()
	p.logged[what] = err.Error()
	p.mu.Unlock()
	if !logged {
		p.s.cfg.Log.Warn("cannot write or read a thread's folder now", "ref", what, "err", err)
	}
}

// logIgnored logs once a file among the threads that is not a thread.
func (p *projector) logIgnored(what messeaf.Problem) {
	p.mu.Lock()
	logged := p.logged[what.File] == what.Text
	p.logged[what.File] = what.Text
	p.mu.Unlock()
	if !logged {
		p.s.cfg.Log.Warn("ignored, because it is no thread", "err", what)
	}
}

// updateFolder writes the log's steps to one thread's folder. It passes messages of other
// programs in that folder to the Listener.
func (p *projector) updateFolder(ctx context.Context, ref string) error {
	w, ok, err := p.s.read(ref)
	if !ok || err != nil {
		return err
	}
	f := w.folder
	if f.rewrite || !f.fresh && !p.s.unchanged(ref, f) || f.flat && f.ver != w.env.Ver || f.ver == w.env.Ver && len(p.s.places(ref)) > 1 {
		var messages []mess.Message
		f, messages, err = p.s.reconcile(w)
		switch {
		case errors.Is(err, errArchived):
			return p.s.store(ctx, []logformat.Record{{Gone: ref}})
		case err != nil:
			return err
		}
		if len(messages) > 0 {
			return p.judge(ctx, ref, messages)
		}
	}
	f, err = p.s.writeFolder(w, f)
	p.s.index.noteFolder(ref, f) // after an error, too: the next check then compares the folder anew
	p.s.watcher.thread(p.s, ref, f)
	if err != nil {
		return err
	}
	p.noteEnded(w)
	return nil
}

// isUnjudged reports whether a message of another program still has to go to the Listener. Each
// message goes there once.
func (p *projector) isUnjudged(ref string, m mess.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to != nil && !p.judged[ref][messeaf.Fingerprint(m)]
}

// judge passes messages of other programs to the Listener.
func (p *projector) judge(ctx context.Context, ref string, messages []mess.Message) error {
	for _, m := range messages {
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
	p.mark(ref, false)
	return nil
}

// Settle waits until the folders show every step in the log. The caller must run Run
// concurrently.
func (s *Store) Settle(ctx context.Context) error {
	p := s.project
	stop := context.AfterFunc(ctx, func() { p.mu.Lock(); defer p.mu.Unlock(); p.idle.Broadcast() })
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urgent++
	defer func() { p.urgent-- }()
	p.wakeUp()
	for (len(p.priority)+len(p.queue)+len(p.open) > 0 || len(p.lowPriority) > 0 || p.busy || len(p.due) > 0) && ctx.Err() == nil {
		p.idle.Wait()
	}
	return ctx.Err()
}

// finish writes all remaining steps to the folders when the store closes.
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

// ignoredError is the reason why the store does not import a thread. The store tries again when
// the thread changes.
type ignoredError struct{ error }

func (e ignoredError) Unwrap() error { return e.error }

func isIgnored(err error) bool {
	_, ok := errors.AsType[ignoredError](err)
	return ok
}

// ignoredThread is a thread that the store did not import, with its files at that time.
type ignoredThread struct {
	path     string
	contents []signature
	err      error
}

// ignoredReason returns the error of an earlier import of a thread that has not changed since,
// or nil. It saves a second read of files that are too large to be a thread.
func (p *projector) ignoredReason(at messeaf.Place, now []signature) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.ignored[at.Ref]; was.path == at.Path && len(now) > 0 && slices.Equal(was.contents, now) {
		return was.err
	}
	return nil
}

// noteIgnored notes why the store does not import a thread; a nil err removes the note. It does
// not note errors of the file system, because they can go away without a visible change.
func (p *projector) noteIgnored(at messeaf.Place, was []signature, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ignored, at.Ref)
	if _, ok := errors.AsType[messeaf.Problems](err); ok {
		p.ignored[at.Ref] = ignoredThread{at.Path, was, err}
	}
}

// contents returns all files of a thread's folder, or its single file. It returns nil if it
// cannot list them.
func (s *Store) contents(p messeaf.Place) []signature {
	if p.Flat {
		list, _ := s.signatures(p.Path) // another program may have removed it
		return list
	}
	entries, _ := s.tree().ReadDir(p.Path) // the read of the thread reports the error
	var list []signature
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, signature{info.Name(), info.Size(), info.ModTime()})
		}
	}
	return list
}

// The kernel reports an error of the disk once, and may then show data that it has failed to
// write. After such an error the store writes the folders of all threads in its log anew before
// it releases one. A document in the log keeps this state over a restart.
const (
	diskKind   = "disk"
	diskUnsure = "unsure"
)

// rewriteAll schedules a rewrite of the folders of all threads in the log.
func (s *Store) rewriteAll(ctx context.Context) {
	if err := s.putAnyRevision(ctx, diskKind, diskUnsure, []byte("{}")); err != nil {
		return // the log takes no records, so the store releases no thread
	}
	s.project.writing.Lock() // a folder in progress was begun before the error
	s.index.markRewrite()
	s.project.writing.Unlock()
	s.project.checkLater(s.index.inLog())
	s.project.wakeUp()
}

// noteSynced removes the document after the disk has taken all folders.
func (s *Store) noteSynced(ctx context.Context) {
	if len(s.index.docsOf(diskKind)) == 0 || s.index.hasRewrites() {
		return
	}
	if err := s.putAnyRevision(ctx, diskKind, diskUnsure, nil); err != nil {
		s.project.logOnce("all", err)
	}
}

func (x *index) markRewrite() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range x.threads {
		k.folder.rewrite = k.inLog()
	}
}

// hasRewrites reports whether a thread waits for a rewrite of its folder.
func (x *index) hasRewrites() (any bool) {
	x.each(func(k *threadState) bool {
		any = any || k.folder.rewrite
		return !any
	})
	return any
}
