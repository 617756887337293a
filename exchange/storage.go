package exchange

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// read reads a thread from the store.
func (x *Exchange) read(ctx context.Context, ref string) (Thread, error) {
	t, rev, err := x.store.Read(ctx, ref)
	t.Rev = rev
	return t, err
}

// readEnvelope returns the envelope of a thread. It reads the store only if the thread is not open.
func (x *Exchange) readEnvelope(ctx context.Context, ref string) (Envelope, error) {
	if l := x.open.find(ref); l != nil {
		return x.open.envelope(l), nil
	}
	if r, ok := x.store.(thread.EnvelopeReader); ok {
		return r.Envelope(ctx, ref)
	}
	t, err := x.read(ctx, ref)
	return t.Envelope, err
}

// append stores a step, and sets the revision of its envelope. If the store cannot tell whether it
// has the step, append reads the thread, and stores the step again if it is missing. The store
// compares revisions, so it never has the step twice.
func (x *Exchange) append(ctx context.Context, s *Step) error {
	s.Envelope.Op = rand.Text()
	err := x.meter.Append(&s.Envelope, func() error { return x.appendOnce(ctx, s) })
	if err != nil {
		return &appendError{err, s.Envelope.Ref, requestID(ctx)}
	}
	if x.log.Enabled(ctx, slog.LevelDebug) {
		e := &s.Envelope
		x.log.Debug("step stored", "ref", e.Ref, "request", requestID(ctx), "status", e.Status, "epoch", e.Epoch, "traceparent", e.Trace)
	}
	return nil
}

// appendError is an error of the store with the thread, and the request that has led to the step.
type appendError struct {
	error
	ref, request string
}

func (e *appendError) Unwrap() error { return e.error }

// requestKey is the key of a request id in a context.
type requestKey struct{}

// WithRequestID returns a context for Post with the id that the channel gives to a request. The log of
// the exchange has it as "request".
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// requestID returns the id of the request, or "".
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// appendOnce stores a step that has its operation id.
func (x *Exchange) appendOnce(ctx context.Context, s *Step) error {
	for n := range attempts {
		rev, err := x.store.Append(ctx, *s)
		if err == nil {
			s.Envelope.Rev = rev
			return nil
		}
		if n == 0 && !errors.Is(err, thread.ErrUnknown) {
			return err
		}
		t, readErr := x.read(ctx, s.Envelope.Ref)
		switch {
		case readErr == nil && t.Op == s.Envelope.Op:
			s.Envelope.Rev = t.Rev
			return nil
		case !errors.Is(err, thread.ErrUnknown):
			return err
		case readErr == nil && t.Rev != s.After:
			return ErrStale // another step was first
		case readErr != nil && !errors.Is(readErr, ErrNoThread):
			return errors.Join(err, readErr)
		}
		if !wait.For(ctx, time.Millisecond<<n) {
			return errors.Join(thread.ErrUnknown, ctx.Err())
		}
	}
	return thread.ErrUnknown
}

// channelKind returns the kind of the documents of a channel. The kind is a name in the store: the
// files of earlier releases have the prefix "door-", so it stays.
func channelKind(channel string) string { return "door-" + channel }

// SaveChannelState stores a small document for a channel, under a name. A nil document removes
// it. The error is a *mess.Error.
func (x *Exchange) SaveChannelState(ctx context.Context, channel, name string, doc []byte) error {
	return x.SaveChannelStates(ctx, channel, map[string][]byte{name: doc})
}

// SaveChannelStates stores several documents for a channel, by name, so that they share syncs of
// the disk. It removes nil documents. After an error, the store may have some of them.
func (x *Exchange) SaveChannelStates(ctx context.Context, channel string, docs map[string][]byte) error {
	var keys []documents.Key
	for name := range docs {
		keys = append(keys, documents.Key{Kind: channelKind(channel), ID: name})
	}
	if err := x.docs.Save(ctx, func(k documents.Key) ([]byte, error) { return docs[k.ID], nil }, keys...); err != nil {
		return x.storeError(err)
	}
	return nil
}

// ChannelState returns the documents of a channel, by name.
func (x *Exchange) ChannelState(channel string) map[string][]byte {
	return x.docs.Read(channelKind(channel))
}

// ChannelDocument returns one document of a channel, nil for none. The caller must not change it.
func (x *Exchange) ChannelDocument(channel, name string) []byte {
	return x.docs.Get(documents.Key{Kind: channelKind(channel), ID: name})
}

// storeError turns an error of the store into one for the client. It returns a *mess.Error
// unchanged.
func (x *Exchange) storeError(err error) error {
	if r, ok := errors.AsType[*mess.Error](err); ok {
		return r
	}
	if d, ok := errors.AsType[*thread.DamagedError](err); ok {
		return mess.Errorf(mess.Unavailable, "a record of the thread %s in the store is unreadable, so the thread takes no more steps; messkit status names the record", d.Ref)
	}
	switch {
	case errors.Is(err, thread.ErrBusy):
		return mess.Errorf(mess.Unavailable, "the exchange has too many new requests; try again in a second")
	case errors.Is(err, context.Canceled): // the caller has gone, or the exchange ends
		x.log.Debug("the store did not take a step", "err", err)
	default:
		log := x.log
		if a, ok := errors.AsType[*appendError](err); ok {
			log = log.With("ref", a.ref, "request", a.request)
		}
		log.Error("store failed", "err", err)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return mess.Errorf(mess.Unavailable, "the exchange has no space left on its disk for this; make room there, and try again")
	}
	return mess.Errorf(mess.Unavailable, "the exchange cannot store this now; try again")
}

// setEnvelope sets the envelope of a thread, and with it the sets of openThreads, the offers, the
// next deadline, and the dependents of a thread that ends. It ignores an envelope that is not
// newer. The caller holds x.open.mu.
func (x *Exchange) setEnvelope(l *openThread, e Envelope) {
	was, now := l.env(), x.now()
	if e.Ver <= was.Ver {
		return
	}
	x.threads.Set(e)
	x.open.announce()
	l.set(&e)
	if was.Ref == "" {
		l.key = queueKeyOf(&e)
		x.open.awaitDeps(l, &e)
	}
	if was.Epoch != e.Epoch || was.Ref == "" {
		l.lastContact = now
	}
	if e.Status == mess.Pending && was.Status != mess.Pending {
		l.pending = now
	}
	x.open.update(l, &was, &e)
	x.updateOffers(l, &e, now)
	if e.Status.Terminal() {
		x.uploads.forget(e.Ref)
		x.open.close(e, now)
		return
	}
	x.open.byRef[l.key.ref] = l
	x.open.wake(l, x.dueTime(l, &e))
}

// addOpen adds a thread that the store has open at the start.
func (x *Exchange) addOpen(e Envelope) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	x.setEnvelope(&openThread{}, e)
}

// load returns an open thread, or reads one that has ended from the store. If another goroutine that
// has it in work fails, load reads it itself.
func (x *Exchange) load(ctx context.Context, ref string) (*openThread, error) {
	for {
		x.open.mu.Lock()
		l, c := x.open.byRef[ref], x.open.loading[ref]
		mine := l == nil && c == nil
		if mine {
			c = x.open.startLoading(ref)
		}
		x.open.mu.Unlock()
		switch {
		case l != nil:
			return l, nil
		case mine:
			l, err := x.loadFromStore(ctx, c)
			if err == nil {
				x.settleDeps(ctx, l)
			}
			return l, err
		}
		select {
		case <-c.done:
			if c.err != errNotRead {
				return c.loaded, c.err
			}
		case <-ctx.Done():
			return nil, x.storeError(ctx.Err())
		}
	}
}

// loadFromStore reads a thread that startLoading has announced, and adds it to the open threads
// unless it has ended. No other goroutine changes the thread meanwhile, because all wait for it.
func (x *Exchange) loadFromStore(ctx context.Context, c *loading) (l *openThread, err error) {
	var t Thread
	err = errNotRead
	defer func() {
		x.open.mu.Lock()
		defer x.open.mu.Unlock()
		if l != nil {
			x.noteRead(&t.Envelope)
		}
		if e := t.Envelope; l != nil && !e.Status.Terminal() {
			x.setEnvelope(l, e)
		} else if l != nil {
			l.set(&e)
		}
		x.open.finishLoading(c, l, err)
	}()
	t, err = x.read(ctx, c.ref)
	if errors.Is(err, ErrNoThread) {
		return nil, mess.Errorf(mess.NotFound, "there is no thread %q", c.ref)
	}
	if err != nil {
		return nil, x.storeError(err)
	}
	return &openThread{}, nil
}

// errNotRead is the error for those who wait for a thread whose read has crashed, or whose creation
// has failed.
var errNotRead error = mess.Errorf(mess.Unavailable, "the exchange cannot read this now; try again")

// reread reads a thread again after a step of another process.
func (x *Exchange) reread(ctx context.Context, l *openThread) error {
	t, err := x.read(ctx, x.open.envelope(l).Ref)
	if err != nil {
		return x.storeError(err)
	}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	x.noteRead(&t.Envelope)
	x.setEnvelope(l, t.Envelope)
	return nil
}

// settleDeps finds the terminal status of the dependencies of a thread that are not open. A thread waits
// for a dependency with an unknown status. If the exchange cannot read a dependency, it tries again
// later.
func (x *Exchange) settleDeps(ctx context.Context, l *openThread) {
	env := x.open.envelope(l)
	var failed error
	for _, dep := range x.open.closedDeps(l) {
		status, err := x.statusOfDep(ctx, env.Requester, dep)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", dep, err))
		}
		if !status.Terminal() { // it does not exist yet, or its own end will come
			continue
		}
		x.open.mu.Lock()
		x.open.dropDep(l.key.ref, env.Requester, dep)
		l.deps[dep] = status
		x.open.wake(l, x.now())
		x.open.mu.Unlock()
	}
	x.retryDeps(env.Ref, failed)
}

// The pause before the exchange reads the dependencies of a thread again, after the first failure
// and at most.
const (
	firstDepsPause   = time.Second
	longestDepsPause = time.Minute
)

// retryKey precedes the ref of a thread in the deadlines, like refillKey.
const retryKey = "dependencies "

// retryDeps schedules the next attempt of settleDeps after an error. A nil error ends the attempts.
func (x *Exchange) retryDeps(ref string, err error) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	pause := x.open.retries[ref]
	switch {
	case err == nil || x.open.byRef[ref] == nil:
		delete(x.open.retries, ref)
		return
	case pause == nil:
		pause = &wait.Backoff{First: firstDepsPause, Last: longestDepsPause}
		x.open.retries[ref] = pause
		x.log.Error("a thread waits for one that the exchange cannot read; the exchange tries again", "ref", ref, "err", err)
	}
	x.open.due.Set(retryKey+ref, x.now().Add(pause.Next()))
}

// statusOfDep returns the status of a dependency; "" if it does not exist yet, or any more. It reads
// only archived threads.
func (x *Exchange) statusOfDep(ctx context.Context, requester, dep string) (mess.Code, error) {
	ref := dep
	if !isRef(dep) {
		own, err := x.store.Lookup(ctx, thread.Key{Owner: requester, Name: dep})
		if err == nil {
			ref = own
		} else if !errors.Is(err, ErrNoThread) {
			return "", err
		}
	}
	if status := x.threads.Status(ref); status != "" {
		return status, nil
	}
	t, err := x.read(ctx, ref)
	if errors.Is(err, ErrNoThread) {
		return "", nil
	}
	return t.Status, err
}

// isRef reports whether a text looks like the ref of a thread.
func isRef(text string) bool {
	day, _, ok := messeaf.ParseRef(messeaf.ThreadRef(text))
	_, err := time.Parse(time.DateOnly, day)
	return ok && err == nil
}

// maxRefs limits the refs that the exchange tries for one thread.
const maxRefs = 40

// newRef returns a ref that this exchange has not used. After each refused ref it skips more
// numbers, because other processes may have used the next ones.
func (x *Exchange) newRef(s submission, now time.Time, refused int) string {
	day := now.Format(time.DateOnly)
	return messeaf.Ref(day, x.serials.next(day, 1<<min(max(0, refused-1), 16)), messeaf.Token(s.req.ID))
}

// serials has the highest serial of the refs of each day.
type serials struct {
	mu   sync.Mutex
	last map[string]int
}

// next adds by to the highest serial of a day, and returns it.
func (s *serials) next(day string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[day] += by
	return s.last[day]
}

// record records the serial of a ref.
func (s *serials) record(ref string) {
	day, serial, ok := messeaf.ParseRef(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.last[day] = max(s.last[day], serial)
	}
}
