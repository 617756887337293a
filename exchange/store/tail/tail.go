// Package tail keeps the newest changes of a store in memory for the followers of its feed.
package tail

import (
	"context"
	"strconv"
	"sync"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// size is the number of changes in a Tail. A follower that is further behind gets the changes
// from its Source.
const size = 256

// Change is a change with its number. Numbers grow with each change.
type Change struct {
	Seq uint64
	thread.Change
}

// Tail keeps the newest changes of one store. The zero value is empty. It is safe for concurrent
// use.
type Tail struct {
	mu        sync.Mutex
	changes   []Change // oldest first
	dropped   uint64   // number of the newest change that left changes
	last      uint64
	followers map[chan struct{}]bool
}

// Begin drops all changes. The Source has the changes up to the number last.
func (t *Tail) Begin(last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes, t.dropped, t.last = nil, last, last
}

// Add adds the newest change.
func (t *Tail) Add(seq uint64, c thread.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Pos = posOf(seq)
	t.last = seq
	t.changes = append(t.changes, Change{seq, c})
	if n := len(t.changes) - size; n > 0 {
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
	// documents and in the order of the numbers. It returns the number of the last change that
	// it covers.
	Since(seq uint64, fn func(Change) error) (upTo uint64, err error)
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
			at, err = s.Since(at, func(c Change) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				c.Pos = posOf(c.Seq)
				return fn(c.Change)
			})
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
