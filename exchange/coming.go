package exchange

import (
	"context"
	"errors"

	"github.com/messkit/messkit/mess"
)

// coming is a thread that is being stored for the first time, or that is read from the
// store because the index does not have it. Whoever names it meanwhile waits until the
// index has it, so that nobody finds a thread that is stored and not indexed.
type coming struct {
	ref  string
	done chan struct{} // closed when live and err are set
	live *openThread
	err  error
}

// announce notes that a thread is coming. x.open.mu is held.
func (x *Exchange) announce(ref string) *coming {
	c := &coming{ref: ref, done: make(chan struct{})}
	x.open.coming[ref] = c
	return c
}

// arrive ends the wait for a thread. x.open.mu is held.
func (x *Exchange) arrive(c *coming, l *openThread, err error) {
	c.live, c.err = l, err
	delete(x.open.coming, c.ref)
	close(c.done)
}

// opens takes a thread into the index that the store had open when the exchange was
// opened.
func (x *Exchange) opens(e Envelope) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	x.index(&openThread{}, e)
}

// load returns the thread from the index, or, for one that has ended, as the
// store has it.
func (x *Exchange) load(ctx context.Context, ref string) (*openThread, error) {
	x.open.mu.Lock()
	l, c := x.open.byRef[ref], x.open.coming[ref]
	mine := l == nil && c == nil
	if mine {
		c = x.announce(ref)
	}
	x.open.mu.Unlock()
	switch {
	case l != nil:
		return l, nil
	case mine:
		return x.fetch(ctx, c)
	}
	select {
	case <-c.done:
		return c.live, c.err
	case <-ctx.Done():
		return nil, x.broken(ctx.Err())
	}
}

// fetch reads a thread that was announced from the store. One that has not ended goes
// into the index. Nobody has changed it since it was announced: whoever wants to, waits.
func (x *Exchange) fetch(ctx context.Context, c *coming) (l *openThread, err error) {
	err = errNotRead
	defer func() {
		x.open.mu.Lock()
		defer x.open.mu.Unlock()
		if l != nil && !l.env.Status.Terminal() {
			e := l.env
			l.env = Envelope{}
			x.index(l, e)
		}
		x.arrive(c, l, err)
	}()
	t, err := x.read(ctx, c.ref)
	if errors.Is(err, ErrNoThread) {
		return nil, mess.Errorf(mess.NotFound, "there is no thread %q", c.ref)
	}
	if err != nil {
		return nil, x.broken(err)
	}
	return &openThread{env: t.Envelope}, nil
}

// errNotRead is what others hear of a read that has crashed.
var errNotRead = mess.Errorf(mess.Unavailable, "the exchange cannot read this now; try again")
