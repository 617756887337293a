package exchange

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
)

// readAll reads all that the store has, and returns the envelopes of the threads that are
// open.
func (x *Exchange) readAll(ctx context.Context) ([]Envelope, error) {
	open := map[string]Envelope{}
	err := thread.ReadAll(ctx, x.store, "", func(c thread.Change) error {
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
			x.threads.Set(e)
		default:
			e.Rev = c.Rev
			open[e.Ref] = e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inOrder := slices.Collect(maps.Values(open))
	slices.SortFunc(inOrder, func(a, b Envelope) int { return cmp.Or(a.Updated.Compare(b.Updated), strings.Compare(a.Ref, b.Ref)) })
	return inOrder, nil
}

// followStore takes what changes in the store until ctx ends. The exchange knows its own
// steps already; what is new was done by another process.
func (x *Exchange) followStore(ctx context.Context) error {
	return x.store.Feed(ctx, x.pos, func(c thread.Change) error {
		x.docs.Note(c)
		e := c.Envelope
		switch {
		case e.Ref == "":
		case c.Removed:
			x.threads.Remove(e.Ref)
		case c.Outline:
			x.threads.Set(e)
		default:
			e.Rev = c.Rev
			x.note(e)
		}
		return nil
	})
}

// Changes calls fn with each change of the store after a position, until ctx ends or fn
// returns an error, as Store.Feed does.
func (x *Exchange) Changes(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return x.store.Feed(ctx, after, fn)
}

// Position is that of a change that the exchange knows; later changes come after it.
func (x *Exchange) Position() thread.Pos { return x.docs.Position() }

// note takes a thread into the index that another process has made or changed. A thread
// that the index does not have is read again: e may be older than its end.
func (x *Exchange) note(e Envelope) {
	if x.threads.Knows(e.Ref, e.Ver) {
		return // it was done here
	}
	x.serials.used(e.Ref)
	x.open.mu.Lock()
	l := x.open.byRef[e.Ref]
	if l != nil {
		x.index(l, e)
	}
	x.open.mu.Unlock()
	switch {
	case l != nil:
	case e.Status.Terminal():
		x.threads.Set(e)
	default:
		if _, err := x.load(context.Background(), e.Ref); err != nil {
			x.log.Error("a thread that another process has made cannot be read; it waits for the next start", "ref", e.Ref, "err", err)
		}
	}
}

// read reads a thread from the store.
func (x *Exchange) read(ctx context.Context, ref string) (Thread, error) {
	t, rev, err := x.store.Read(ctx, ref)
	t.Rev = rev
	return t, err
}

// readEnvelope reads the envelope of a thread: of one that is open, what is in memory.
func (x *Exchange) readEnvelope(ctx context.Context, ref string) (Envelope, error) {
	if l := x.open.find(ref); l != nil {
		return x.envelope(l), nil
	}
	if r, ok := x.store.(thread.EnvelopeReader); ok {
		return r.Envelope(ctx, ref)
	}
	t, err := x.read(ctx, ref)
	return t.Envelope, err
}
