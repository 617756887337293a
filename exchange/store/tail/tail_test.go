package tail_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange/store/tail"
	"github.com/messkit/messkit/exchange/thread"
)

// source has the newest change of each thread, as a store has.
type source struct {
	mu  sync.Mutex
	now map[string]tail.Change
}

func (s *source) Since(seq uint64, fn func(tail.Change) error) error {
	s.mu.Lock()
	var all []tail.Change
	for _, c := range s.now {
		if c.Seq > seq {
			all = append(all, c)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b tail.Change) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, c := range all {
		if err := fn(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) Serials() map[string]int { return nil }

// add makes a change of a thread, or removes it.
func (s *source) add(t *tail.Tail, seq uint64, ref string, removed bool) {
	c := thread.Change{Envelope: thread.Envelope{Ref: ref}, Removed: removed}
	s.mu.Lock()
	if delete(s.now, ref); !removed {
		s.now[ref] = tail.Change{Seq: seq, Change: c}
	}
	s.mu.Unlock()
	t.Add(seq, c)
}

// A follower is far behind when the store removes many threads. It gets each removal, in the order of
// the changes, and the same threads as a follower that is not behind.
func TestFollowerBehindGetsRemovals(t *testing.T) {
	const threads = 2000
	var tl tail.Tail
	s := &source{now: map[string]tail.Change{}}
	seq := uint64(0)
	change := func(ref string, removed bool) { seq++; s.add(&tl, seq, ref, removed) }
	for i := range threads {
		change(strconv.Itoa(i), false)
	}
	change("first", false)

	begun, behind := make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	known := map[string]bool{}
	err := make(chan error, 1)
	go func() {
		last := thread.Pos("")
		err <- tl.Follow(ctx, s, "", func(c thread.Change) error {
			if c.Envelope.Ref == "first" {
				close(begun)
				<-behind
			}
			if !c.Level && !last.Before(c.Pos) {
				return fmt.Errorf("position %s comes after %s", c.Pos, last)
			}
			last = c.Pos
			if ref := c.Envelope.Ref; c.Removed {
				delete(known, ref)
			} else if ref != "" {
				known[ref] = true
			}
			if c.Envelope.Ref == "last" {
				stop()
			}
			return nil
		})
	}()
	<-begun // it has all threads
	for i := range threads {
		if change(strconv.Itoa(i), true); i%100 == 0 {
			change(strconv.Itoa(i), false) // it is there again
		}
	}
	change("last", false)
	close(behind)
	if err := <-err; err != nil {
		t.Fatal(err)
	}
	if n := len(known); n != len(s.now) {
		t.Errorf("the follower knows %d threads, want %d", n, len(s.now))
	}
}
