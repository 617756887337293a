package exchange

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/lease"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// readAll reads the whole feed of the store, and returns the envelopes of the open threads.
func (x *Exchange) readAll(ctx context.Context) ([]*Envelope, error) {
	open := map[string]*Envelope{}
	err := thread.ReadEnvelopes(ctx, x.store, func(c thread.Change) error {
		x.docs.Note(c)
		switch e := c.Envelope; {
		case c.Level:
			x.pos = c.Pos
			maps.Copy(x.serials.last, c.Serials)
		case e.Ref == "":
		case c.Removed:
			delete(open, e.Ref)
			x.threads.Remove(e.Ref)
		case c.Outline || e.Status.Terminal():
			delete(open, e.Ref)
			x.setIndex(c)
		default:
			e.Rev = c.Rev
			open[e.Ref] = &e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inOrder := slices.AppendSeq(make([]*Envelope, 0, len(open)), maps.Values(open))
	slices.SortFunc(inOrder, func(a, b *Envelope) int { return cmp.Or(a.Updated.Compare(b.Updated), strings.Compare(a.Ref, b.Ref)) })
	return inOrder, nil
}

// followStore reads the changes of the store until ctx ends. The exchange knows its own steps; all
// others are those of another process.
func (x *Exchange) followStore(ctx context.Context) error {
	defer x.meter.Following(false)
	return x.store.Feed(ctx, x.pos, func(c thread.Change) error {
		x.docs.Note(c)
		if c.Level {
			x.meter.Following(true)
		}
		x.meter.Delivered(&c)
		switch e := c.Envelope; {
		case e.Ref == "":
		case c.Removed:
			x.remove(c)
		case c.Outline:
			if !x.threads.Knows(e.Ref, e.Ver) { // its steps are not in the feed
				x.events.Lose(c.Pos.Number(), stepOf(&e))
			}
			x.setEnded(c)
		default:
			x.adopt(ctx, c)
			x.events.Pass(c.Pos.Number(), stepOf(&e))
		}
		return nil
	})
}

// recalled is how far the exchange goes back in the feed for events of the time before its start, in
// positions.
const recalled = 4096

// errRecalled ends the feed for recall.
var errRecalled = errors.New("the events are those up to the start")

// recall publishes the last steps before the start. So a client of another exchange, or of this one before
// a restart, can resume after an event of that time.
func (x *Exchange) recall(ctx context.Context) error {
	defer x.events.Live()
	after := x.pos.Back(recalled)
	before := func(func(thread.Change, error) bool) {}
	if r, ok := x.store.(thread.Recaller); ok {
		after, before = r.Recalls()
	}
	if after == "" {
		x.events.Begin(x.cfg.ID)
	}
	vers := map[string]uint64{}
	for c, err := range before {
		if err != nil {
			x.log.Debug("clients cannot resume at the events before a step, which the exchange cannot read", "err", err)
			break
		}
		x.recallStep(&c, vers)
		after = c.Pos
	}
	if !after.Before(x.pos) {
		return nil
	}
	err := x.store.Feed(ctx, after, func(c thread.Change) error {
		if c.Level || x.pos.Before(c.Pos) {
			return errRecalled
		}
		x.recallStep(&c, vers)
		return nil
	})
	if errors.Is(err, errRecalled) {
		return nil
	}
	return errors.Join(err, ctx.Err())
}

// recallStep publishes a step of recall. vers has the last version of each thread.
func (x *Exchange) recallStep(c *thread.Change, vers map[string]uint64) {
	e, pos := &c.Envelope, c.Pos.Number()
	switch {
	case c.Removed && e.Status.Terminal() && vers[e.Ref] < e.Ver:
		x.events.Lose(pos, stepOf(e)) // its last steps are not in the feed
	case e.Ref == "" || c.Removed || c.Outline && vers[e.Ref] == e.Ver:
	case c.Outline || c.Messages == nil:
		x.events.Lose(pos, stepOf(e))
	default:
		vers[e.Ref] = e.Ver
		x.publishStep(Step{Envelope: *e, Messages: c.Messages})
		x.events.Pass(pos, stepOf(e))
	}
}

// The pauses before the exchange looks again whether a snapshot is due, and after an error.
const (
	snapshotPause = 10 * time.Second
	snapshotRetry = 5 * time.Minute
)

// keepSnapshot has the store write snapshots, while this exchange holds the lease for that.
func (x *Exchange) keepSnapshot(ctx context.Context) error {
	s, ok := x.store.(thread.Snapshotter)
	if !ok {
		return nil
	}
	return lease.New(x, "snapshot", x.log).Run(ctx, func(ctx context.Context, _ uint64) error {
		for {
			pause := snapshotPause
			if _, err := s.Snapshot(ctx); err != nil && ctx.Err() == nil {
				x.log.Warn("an exchange that starts reads more of the store, because this one could not write the snapshot", "err", err)
				pause = snapshotRetry
			}
			if !wait.For(ctx, pause) {
				return nil
			}
		}
	})
}

// Changes calls fn with each change of the store after a position, until ctx ends or fn returns an
// error. It works like Store.Feed.
func (x *Exchange) Changes(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return x.store.Feed(ctx, after, fn)
}

// Position returns the position of a change that the exchange knows. All later changes have later
// positions.
func (x *Exchange) Position() thread.Pos { return x.docs.Position() }

// Await waits until the exchange has applied a change of its store, which the feed delivers a
// moment earlier. The offers of the thread are then those after the change. The error is that of
// ctx.
func (x *Exchange) Await(ctx context.Context, e Envelope) error {
	for {
		news := x.open.await(func() bool { return x.threads.Knows(e.Ref, e.Ver) })
		if news == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		}
	}
}

// readAhead is what the exchange has published of a thread of which it has read steps before the
// feed has delivered them. Until the feed has delivered these, it alone publishes the steps of the
// thread, so that followers get them in order.
type readAhead struct {
	ver    uint64 // of the last step that is published
	serial int    // of its last message
	read   uint64 // version that the exchange has read, or made since
}

// noteRead records that the exchange has read a thread from the store. Steps of another process that
// the feed has not delivered are unpublished. The caller holds x.open.mu, and then sets the envelope.
func (x *Exchange) noteRead(e *Envelope) {
	known := x.threads.Version(e.Ref)
	if e.Ver <= known {
		return
	}
	a := x.open.ahead[e.Ref]
	if a == nil {
		a = &readAhead{ver: known, serial: x.serialAt(e, known)}
		x.open.ahead[e.Ref] = a
	}
	a.read = e.Ver
}

// commit applies a stored step of this process to the open threads, and publishes it. If the feed was
// faster, or has yet to deliver earlier steps of another process, adopt publishes the step.
func (x *Exchange) commit(l *openThread, s Step) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	e := &s.Envelope
	switch a := x.open.ahead[e.Ref]; {
	case a != nil:
		a.read = max(a.read, e.Ver)
		x.setStep(l, s)
	case !x.threads.Knows(e.Ref, e.Ver):
		x.setStep(l, s)
		x.publishStep(s)
	}
}

// setStep sets the envelope of a thread after a step, and notes the contact to its holder. The caller
// holds x.open.mu.
func (x *Exchange) setStep(l *openThread, s Step) {
	if len(s.Messages) > 0 && l.env().Executor == s.Messages[0].From && !isRejected(s.Messages) {
		l.lastContact = x.now()
	}
	x.setEnvelope(l, s.Envelope)
}

// adopt applies and publishes a step that the feed delivers, unless this process has done that
// already.
func (x *Exchange) adopt(ctx context.Context, c thread.Change) {
	s := Step{Envelope: c.Envelope, Messages: c.Messages}
	s.Envelope.Rev = c.Rev
	since, isNew := x.unpublished(&s.Envelope)
	if !isNew {
		return
	}
	if s.Messages == nil && s.Envelope.Op != "" { // the feed has left out steps of an exchange
		var err error
		if s.Messages, err = x.messagesBetween(ctx, since, &s.Envelope); err != nil {
			x.log.Error("the exchange cannot read the messages of another process, so its subscribers miss them", "ref", s.Envelope.Ref, "err", err)
		}
	}
	if l := x.applyAdopted(s); l != nil {
		x.settleDeps(ctx, l)
	}
}

// unpublished reports whether the exchange has yet to publish a step, and returns the serial of the
// last published message.
func (x *Exchange) unpublished(e *Envelope) (since int, isNew bool) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	if a := x.open.ahead[e.Ref]; a != nil {
		return a.serial, e.Ver > a.ver
	}
	known := x.threads.Version(e.Ref)
	if e.Ver <= known {
		return 0, false
	}
	return x.serialAt(e, known), true
}

// serialAt returns the serial of the last message of a thread at an earlier version, the one that
// the index has: 0 for the request, and -1 before it. The caller holds x.open.mu.
func (x *Exchange) serialAt(e *Envelope, known uint64) int {
	if l := x.open.byRef[e.Ref]; l != nil {
		return l.env().Serial
	}
	if known == 0 {
		return -1
	}
	return max(0, e.Serial-int(e.Ver-known)) // it has ended, so each step since has one message
}

// messagesBetween reads the messages of a thread after a serial, up to those of a step. The store may
// have later ones already.
func (x *Exchange) messagesBetween(ctx context.Context, serial int, step *Envelope) ([]mess.Message, error) {
	t, err := x.read(ctx, step.Ref)
	after := func(serial int) int {
		at := slices.IndexFunc(t.Messages, func(m mess.Message) bool { return !messeaf.IsAck(m) && messeaf.Serial(m.Ref) > serial })
		if at < 0 {
			at = len(t.Messages)
		}
		return at
	}
	from := after(serial)
	return t.Messages[from:max(from, after(step.Serial))], err
}

// applyAdopted applies a step of the feed. It returns the thread if the step has opened it.
func (x *Exchange) applyAdopted(s Step) (opened *openThread) {
	ref, ver := s.Envelope.Ref, s.Envelope.Ver
	l := x.lockLoaded(ref)
	defer x.open.mu.Unlock()
	a, known := x.open.ahead[ref], x.threads.Knows(ref, ver)
	if a == nil && known || a != nil && ver <= a.ver {
		return nil // this process was faster
	}
	x.serials.record(ref)
	switch {
	case known:
	case l != nil:
		x.setStep(l, s)
	case s.Envelope.Status.Terminal():
		x.threads.Set(s.Envelope)
		x.open.announce()
	default:
		opened = &openThread{}
		x.setStep(opened, s)
	}
	x.publishStep(s)
	if a != nil {
		if a.ver, a.serial = ver, s.Envelope.Serial; ver >= a.read {
			delete(x.open.ahead, ref)
		}
	}
	return opened
}

// lockLoaded takes x.open.mu when no other goroutine creates or reads the thread, and returns the
// thread if it is open.
func (x *Exchange) lockLoaded(ref string) *openThread {
	for {
		x.open.mu.Lock()
		l, c := x.open.byRef[ref], x.open.loading[ref]
		if l != nil || c == nil {
			return l
		}
		x.open.mu.Unlock()
		<-c.done
	}
}

// remove removes a thread that the store does not have any more. If the exchange does not know the end of
// the thread, its last steps are not in the feed.
func (x *Exchange) remove(c thread.Change) {
	e := c.Envelope
	l := x.lockLoaded(e.Ref)
	defer x.open.mu.Unlock()
	if e.Status.Terminal() && !x.threads.Knows(e.Ref, e.Ver) {
		x.events.Lose(c.Pos.Number(), stepOf(&e))
		if l != nil {
			x.endUnseen(l, e)
		}
	}
	x.threads.Remove(e.Ref)
	delete(x.open.ahead, e.Ref)
	x.open.announce()
}

// endUnseen ends an open thread whose last steps the exchange has not got. The caller holds x.open.mu.
func (x *Exchange) endUnseen(l *openThread, outline Envelope) {
	e := l.env()
	e.Status, e.Phase, e.Executor, e.Updated = outline.Status, thread.Finished, outline.Executor, outline.Updated
	e.Ver = max(outline.Ver, e.Ver+1)
	x.setEnvelope(l, e)
}

// setEnded records a thread that another process has ended. The feed has left out its steps.
func (x *Exchange) setEnded(c thread.Change) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	delete(x.open.ahead, c.Envelope.Ref)
	x.setIndex(c)
	x.open.announce()
}

// setIndex gives the index a thread that has ended.
func (x *Exchange) setIndex(c thread.Change) {
	if c.Outline {
		x.threads.SetOutline(c.Envelope, c.Devices)
	} else {
		x.threads.Set(c.Envelope)
	}
}
