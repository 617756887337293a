package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

var errEnough = errors.New("enough")

// feed reads the changes after a position until the feed is level, or, with a number, until it
// has that many.
func feed(t *testing.T, s thread.Store, after thread.Pos, most int) (all []thread.Change) {
	t.Helper()
	err := s.Feed(t.Context(), after, func(c thread.Change) error {
		if c.Level {
			if most == 0 {
				return errEnough
			}
			return nil
		}
		if all = append(all, c); len(all) == most {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("Feed: %v, want the error of the function", err)
	}
	return all
}

// line returns a change as text.
func line(c thread.Change) string {
	if c.Kind != "" {
		return fmt.Sprintf("%s %s %s", c.Kind, c.ID, c.Doc)
	}
	return fmt.Sprintf("%s %s %d", c.Envelope.Ref, c.Envelope.Status, len(c.Messages))
}

func lines(all []thread.Change) string {
	var text strings.Builder
	for _, c := range all {
		text.WriteString(line(c) + "\n")
	}
	return text.String()
}

// written stores some threads, steps and documents, and returns the expected changes of the
// feed.
func written(t *testing.T, s thread.Store) string {
	t.Helper()
	var want []string
	for i := range 5 {
		th := mustCreate(t, s, "agent", fmt.Sprint("id", i), Start)
		want = append(want, fmt.Sprintf("%s pending 1", th.Ref))
		e := th.Envelope
		for _, code := range []mess.Code{mess.Claimed, mess.Completed}[:i%3] {
			e = mustAppend(t, s, Next(e, code, Start))
			want = append(want, fmt.Sprintf("%s %s 1", th.Ref, code))
		}
		if _, err := s.Put(t.Context(), "executor", fmt.Sprint(i), []byte("{}"), ""); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("executor %d {}", i))
	}
	return strings.Join(want, "\n") + "\n"
}

func feedInOrder(t *testing.T, s thread.Store) {
	want := written(t, s)
	got := feed(t, s, "", 0)
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("feed (-want +got):\n%s", diff)
	}
	revs := map[string]thread.Rev{}
	for _, c := range got {
		revs[c.Envelope.Ref] = c.Rev
	}
	for ref, rev := range revs {
		if ref != "" && mustRead(t, s, ref).Rev != rev {
			t.Errorf("%s: the last revision of the feed is %q, want %q", ref, rev, mustRead(t, s, ref).Rev)
		}
	}
}

func feedFromAnyPosition(t *testing.T, s thread.Store) {
	written(t, s)
	all := feed(t, s, "", 0)
	for i, c := range all {
		if diff := cmp.Diff(lines(all[i+1:]), lines(feed(t, s, c.Pos, 0))); diff != "" {
			t.Errorf("after change %d (-want +got):\n%s", i, diff)
		}
	}
}

func twoFollowers(t *testing.T, s thread.Store) {
	var g sync.WaitGroup
	var got [2]string
	const n = 14 // changes of written
	for i := range got {
		g.Go(func() { got[i] = lines(feed(t, s, "", n)) })
	}
	want := written(t, s)
	g.Wait()
	for i := range got {
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("follower %d (-want +got):\n%s", i, diff)
		}
	}
}

// feedWhileWriting runs writers that store more than a store keeps as steps, and followers that
// start at any time. Each follower gets the end of every thread, and no revision twice.
func feedWhileWriting(t *testing.T, s thread.Store) {
	const writers, each = 4, 200
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var followers, g sync.WaitGroup
	follow := func(after thread.Pos, ended chan<- int) {
		done, seen := map[string]bool{}, map[string]bool{}
		err := s.Feed(ctx, after, func(c thread.Change) error {
			if c.Level {
				return nil
			}
			one := c.Envelope.Ref + string(c.Rev)
			if seen[one] {
				return fmt.Errorf("%s came twice with revision %q", c.Envelope.Ref, c.Rev)
			}
			seen[one] = true
			if c.Envelope.Status.Terminal() {
				done[c.Envelope.Ref] = true
			}
			if len(done) == writers*each {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Errorf("Feed: %v", err)
		}
		ended <- len(done)
	}
	ended := make(chan int, 8)
	for w := range writers {
		followers.Go(func() { follow("", ended) })
		g.Go(func() {
			for i := range each {
				th := mustCreate(t, s, fmt.Sprint("agent", w), "", Start)
				mustAppend(t, s, Next(th.Envelope, mess.Completed, Start))
				if i == each/2 {
					followers.Go(func() { follow("", ended) })
				}
			}
		})
	}
	g.Wait()
	followers.Wait()
	for range 2 * writers {
		if n := <-ended; n != writers*each {
			t.Errorf("a follower has received %d ends, want %d", n, writers*each)
		}
	}
}

func badPosition(t *testing.T, s thread.Store) {
	for _, pos := range []thread.Pos{"x", "-1", "../.."} {
		err := s.Feed(t.Context(), pos, func(thread.Change) error { return errEnough })
		if !errors.Is(err, mess.Invalid) {
			t.Errorf("Feed from %q: %v, want a refusal as invalid", pos, err)
		}
	}
}

// feedWithoutMessages compares the feed without messages with the feed, for a store that has both.
func feedWithoutMessages(t *testing.T, s thread.Store) {
	written(t, s)
	want := feed(t, s, "", 0)
	var got []thread.Change
	if err := thread.ReadEnvelopes(t.Context(), s, func(c thread.Change) error {
		if c.Level {
			return nil
		}
		if _, without := s.(thread.EnvelopeFeeder); without && c.Messages != nil {
			t.Errorf("%s has messages", line(c))
		}
		got = append(got, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]thread.Change{want, got} {
		for i := range list {
			list[i].Messages = nil
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without messages (-want +got):\n%s", diff)
	}
}
