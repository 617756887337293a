package exchange

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
)

// readAll reads the whole feed of the store, and returns the envelopes of the open threads.
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

// followStore reads the changes of the store until ctx ends. The exchange knows its own steps; all
// others are those of another process.
func (x *Exchange) followStore(ctx context.Context) error {
	return x.store.Feed(ctx, x.pos, func(c thread.Change) error {
		x.docs.Note(c)
		e := c.Envelope
		switch {
		case e.Ref == "":
		case c.Removed:
			x.threads.Remove(e.Ref)
		case c.Outline:
			x.setEnded(e)
		default:
			e.Rev = c.Rev
			x.adopt(e)
		}
		return nil
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

// adopt adds a thread that another process has made or changed. If openThreads does not have the
// thread, adopt reads it again, because e may be older than its end.
func (x *Exchange) adopt(e Envelope) {
	if x.threads.Knows(e.Ref, e.Ver) {
		return // this process has done it
	}
	x.serials.record(e.Ref)
	x.open.mu.Lock()
	l := x.open.byRef[e.Ref]
	if l != nil {
		x.setEnvelope(l, e)
	}
	x.open.mu.Unlock()
	switch {
	case l != nil:
	case e.Status.Terminal():
		x.setEnded(e)
	default:
		if _, err := x.load(context.Background(), e.Ref); err != nil {
			x.log.Error("the exchange cannot read a thread of another process; it waits for the next start", "ref", e.Ref, "err", err)
		}
	}
}

// setEnded records a thread that another process has ended.
func (x *Exchange) setEnded(e Envelope) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	x.threads.Set(e)
	x.open.announce()
}
