// Package tail keeps the newest changes of a store in memory for the followers of its feed.
package tail

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	// size is the number of changes in a Tail. A follower that is further behind gets the changes
	// from its Source.
	size = 256
	// maxRemoved is the number of earlier removals in a Tail. The Source does not know them.
	maxRemoved = 8192
)

// Change is a change with its number. Numbers grow with each change.
type Change struct {
	Seq uint64
	thread.Change
}

// Tail keeps the newest changes of one store. The zero value is empty. It is safe for concurrent
// use.
type Tail struct {
	mu        sync.Mutex
	changes   []Change  // oldest first
	removed   []removal // the removals among the changes that left changes, oldest first
	dropped   uint64    // number of the newest change that left changes
	last      uint64
	followers map[chan struct{}]bool
}

// removal is the removal of a thread or of a document.
type removal struct {
	seq           uint64
	ref, kind, id string
}

func (r removal) change() Change {
	return Change{r.seq, thread.Change{Envelope: thread.Envelope{Ref: r.ref}, Removed: r.ref != "", Kind: r.kind, ID: r.id}}
}

// removals returns the removals among changes with higher numbers than seq.
func removals(changes []Change, seq uint64) (some []removal) {
	for _, c := range changes {
		if c.Seq > seq && (c.Removed || c.Kind != "" && c.Doc == nil) {
			some = append(some, removal{c.Seq, c.Envelope.Ref, c.Kind, c.ID})
		}
	}
	return some
}

// Begin drops all changes. The Source has the changes up to the number last.
func (t *Tail) Begin(last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes, t.removed, t.dropped, t.last = nil, nil, last, last
}

// Add adds the newest change.
func (t *Tail) Add(seq uint64, c thread.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Pos = posOf(seq)
	t.last = seq
	t.changes = append(t.changes, Change{seq, c})
	if n := len(t.changes) - size; n > 0 {
		t.removed = append(t.removed, removals(t.changes[:n], 0)...)
		t.removed = t.removed[max(0, len(t.removed)-maxRemoved):]
		t.dropped = t.changes[n-1].Seq
		clear(t.changes[:n])
		t.changes = t.changes[n:]
	}
	for f := range t.followers {
		wait.Notify(f)
	}
}

// Source has the methods of a store that Follow needs.
type Source interface {
	// Since calls fn with the changes after a number, in the current state of their threads and
	// documents and in the order of the numbers. It covers all changes that the Tail has, except
	// removals.
	Since(seq uint64, fn func(Change) error) error
	// Serials returns the highest serials by day.
	Serials() map[string]int
}

// Follow implements Store.Feed for a store whose newest changes are in t.
func (t *Tail) Follow(ctx context.Context, s Source, after thread.Pos, fn func(thread.Change) error) error {
	at, err := t.number(after)
	if err != nil {
		return err
	}
	news := make(chan struct{}, 1)
	t.join(news)
	defer t.leave(news)
	for level := false; ; {
		changes, ok := t.after(at)
		switch {
		case ctx.Err() != nil:
			return nil
		case !ok:
			at, err = t.catchUp(ctx, s, at, fn)
		case len(changes) == 0 && !level:
			level = true
			err = fn(thread.Change{Pos: posOf(at), Level: true, Serials: s.Serials()})
		case len(changes) == 0:
			select {
			case <-ctx.Done():
			case <-news:
			}
		default:
			at, err = give(ctx, changes, fn)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// catchUp calls fn with the changes after a number, up to the newest one. They come from the Source,
// and the removals from t. It returns the number of the newest change.
func (t *Tail) catchUp(ctx context.Context, s Source, after uint64, fn func(thread.Change) error) (last uint64, err error) {
	last, gone := t.removedAfter(after)
	one := func(c Change) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.Pos = posOf(c.Seq)
		return fn(c.Change)
	}
	removalsBefore := func(seq uint64) error {
		for len(gone) > 0 && gone[0].seq < seq {
			c := gone[0].change()
			gone = gone[1:]
			if err := one(c); err != nil {
				return err
			}
		}
		return nil
	}
	err = s.Since(after, func(c Change) error {
		if c.Seq > last {
			return nil // t has it
		}
		if err := removalsBefore(c.Seq); err != nil {
			return err
		}
		return one(c)
	})
	if err == nil {
		err = removalsBefore(last + 1)
	}
	return last, err
}

// removedAfter returns the number of the newest change, and the removals after a number.
func (t *Tail) removedAfter(seq uint64) (last uint64, some []removal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.removed)
	for i > 0 && t.removed[i-1].seq > seq {
		i--
	}
	return t.last, append(slices.Clone(t.removed[i:]), removals(t.changes, seq)...)
}

func give(ctx context.Context, changes []Change, fn func(thread.Change) error) (at uint64, err error) {
	for _, c := range changes {
		if ctx.Err() != nil {
			return at, nil
		}
		if err := fn(c.Change); err != nil {
			return at, err
		}
		at = c.Seq
	}
	return at, nil
}

// after returns the changes after a number; false if t has dropped some of them.
func (t *Tail) after(seq uint64) ([]Change, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq < t.dropped {
		return nil, false
	}
	i := len(t.changes)
	for i > 0 && t.changes[i-1].Seq > seq {
		i--
	}
	return append([]Change(nil), t.changes[i:]...), true
}

func (t *Tail) join(f chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.followers == nil {
		t.followers = map[chan struct{}]bool{}
	}
	t.followers[f] = true
}

func (t *Tail) leave(f chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.followers, f)
}

func posOf(seq uint64) thread.Pos { return thread.Pos(strconv.FormatUint(seq, 10)) }

// number returns the number of a position, or an error for an invalid position. A position after
// the newest change maps to 0: the store is then an older copy of its former state, and the feed
// starts again.
func (t *Tail) number(p thread.Pos) (uint64, error) {
	if p == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(p), 10, 64)
	if err != nil {
		return 0, mess.Errorf(mess.Invalid, "position: %.40q is none of this store's feed; leave it out to start again", p)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > t.last {
		n = 0
	}
	return n, nil
}
