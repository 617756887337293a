package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// later is after the end of all threads in these tests.
var later = storetest.Start.AddDate(0, 1, 0)

// ended makes a thread that has ended, with a client id and an attachment.
func ended(t *testing.T, s *jetstream.Store, n int, file string) string {
	t.Helper()
	step := storetest.Step(ref(n), "agent", fmt.Sprint("id", n), storetest.Start)
	rev, err := s.Append(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	step.Envelope.Rev = rev
	end := claim(step.Envelope, "phone")
	end.Envelope.Status, end.Envelope.Phase = mess.Completed, thread.Finished
	if file != "" {
		staged, err := s.Stage(t.Context(), strings.NewReader(file), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		end.Binds = []thread.Bind{{Name: "att-001-image-x.jpg", SHA256: staged.SHA256}}
	}
	if _, err := s.Append(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	return step.Envelope.Ref
}

// archiveAll archives threads, and checks their number.
func archiveAll(t *testing.T, s *jetstream.Store, refs []string, want int) {
	t.Helper()
	if n, err := s.Archive(t.Context(), refs, later); err != nil || n != want {
		t.Fatalf("archived %d of %d threads, %v; want %d", n, len(refs), err, want)
	}
}

// whole checks that a thread has both messages.
func whole(t *testing.T, s *jetstream.Store, ref string) {
	t.Helper()
	if th, _, err := s.Read(t.Context(), ref); err != nil || th.Status != mess.Completed || len(th.Messages) != 2 {
		t.Errorf("%s: %s, %d messages, %v", ref, th.Status, len(th.Messages), err)
	}
	if e, err := s.Envelope(t.Context(), ref); err != nil || e.Status != mess.Completed || e.Executor != "phone" {
		t.Errorf("the envelope of %s: %+v, %v", ref, e, err)
	}
}

func TestArchivedThreads(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	s := opened(t, config(1, server))
	storetest.RunArchived(t, s, func() {
		var refs []string
		level := errors.New("level")
		if err := s.Feed(t.Context(), "", func(c thread.Change) error {
			if c.Level {
				return level
			}
			refs = append(refs, c.Envelope.Ref)
			return nil
		}); !errors.Is(err, level) {
			t.Fatal(err)
		}
		if n, err := s.Archive(t.Context(), refs, later); err != nil || n != 3 {
			t.Fatalf("archived %d threads, %v", n, err)
		}
	})
}

// A follower at another exchange hears of each archived thread, with an outline of its end. One that
// follows from the beginning gets the same, and no step.
func TestFollowersOfArchivedThreads(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, other := opened(t, c), opened(t, c)
	var refs []string
	for n := range 5 {
		refs = append(refs, ended(t, s, n+1, ""))
	}
	gone, level := make(chan thread.Change, 10), make(chan bool, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	follow := func(after thread.Pos, fn func(thread.Change)) error {
		return other.Feed(ctx, after, func(c thread.Change) error {
			if c.Level {
				level <- true
			}
			fn(c)
			return nil
		})
	}
	go func() {
		_ = follow("", func(c thread.Change) { // it ends with ctx
			if c.Removed {
				gone <- c
			}
		})
	}()
	<-level
	archiveAll(t, s, refs, 5)
	for _, want := range refs {
		c := <-gone
		if e := c.Envelope; e.Ref != want || e.Status != mess.Completed || e.Requester != "agent" || e.Executor != "phone" || e.Ver != 2 || c.Pos == "" {
			t.Errorf("%+v, want the end of %s", c, want)
		}
		whole(t, other, want)
	}
	enough := errors.New("level")
	removed := 0
	if err := other.Feed(t.Context(), "", func(c thread.Change) error {
		switch {
		case c.Level:
			return enough
		case c.Removed:
			removed++
		case c.Envelope.Ref != "":
			t.Errorf("a step of %s", c.Envelope.Ref)
		}
		return nil
	}); !errors.Is(err, enough) || removed != 5 {
		t.Errorf("from the beginning: %d removed threads, %v", removed, err)
	}
}

// A thread that has changed after the time, or has not ended, stays. A second call finds nothing.
func TestArchiveLeavesOthers(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	s := opened(t, config(1, server))
	done := ended(t, s, 1, "")
	if _, err := s.Append(t.Context(), storetest.Step(ref(2), "agent", "", storetest.Start)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Archive(t.Context(), []string{done, ref(2)}, storetest.Start); err != nil || n != 0 {
		t.Errorf("%d threads that are not old, %v", n, err)
	}
	refs := []string{done, ref(2), ref(3), "../evil"}
	archiveAll(t, s, refs, 1)
	archiveAll(t, s, refs, 0)
	if th, _, err := s.Read(t.Context(), ref(2)); err != nil || th.Status != mess.Pending {
		t.Errorf("the open thread: %s, %v", th.Status, err)
	}
	if all, err := s.Archived(t.Context()); err != nil || !slices.Equal(all, []string{done}) {
		t.Errorf("the archive has %v, %v", all, err)
	}
}

// Threads that end later join the same part, while it is small. The part before it goes with the bytes that
// no thread needs; those of an open thread stay.
func TestArchiveGrowsAndIsCleaned(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, other := opened(t, c), opened(t, c)
	shared, own := "a picture of two threads", strings.Repeat("a picture of one thread ", 2000)
	first := ended(t, s, 1, own)
	second := ended(t, s, 2, shared)
	archiveAll(t, s, []string{first}, 1)
	staged, err := s.Stage(t.Context(), strings.NewReader(shared), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	open := storetest.Step(ref(3), "agent", "", storetest.Start)
	open.Binds = []thread.Bind{{Name: "att-001-image-x.jpg", SHA256: staged.SHA256}}
	if _, err := s.Append(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	archiveAll(t, other, []string{second}, 1)
	if n, err := s.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("removed %d young objects, %v", n, err)
	}
	_, _, before := s.State(t)
	s.SetAges(time.Hour, 0, 0)
	if n, err := s.Clean(t.Context()); n != 2 || err != nil { // the first part, and the picture of the first thread
		t.Errorf("removed %d objects, %v; want 2", n, err)
	}
	if _, _, after := s.State(t); after > before-uint64(len(own)) {
		t.Errorf("the object store has %d bytes, and had %d", after, before)
	}
	if n, err := s.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("removed %d objects again, %v", n, err)
	}
	for _, one := range []*jetstream.Store{s, other} {
		whole(t, one, first)
		whole(t, one, second)
		f, err := one.Attachment(t.Context(), first, "att-001-image-x.jpg")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := one.Blob(t.Context(), staged.SHA256); err != nil {
			t.Errorf("the picture of the open thread: %v", err)
		}
	}
	// Staged bytes are written again before they are old.
	if _, err := s.Stage(t.Context(), strings.NewReader(own), 1<<20); err != nil {
		t.Fatal(err)
	}
}

var errKilled = errors.New("killed")

// An exchange dies at each place between two writes, and another one goes on. Each thread stays readable,
// and is archived once.
func TestArchiverIsKilled(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	steps := map[string]bool{}
	for kill := 1; ; kill++ {
		c := config(1, server)
		s, other := opened(t, c), opened(t, c)
		var refs []string
		for n := range 3 {
			refs = append(refs, ended(t, s, n+1, fmt.Sprint("picture ", n)))
		}
		left := kill
		s.SetCrash(func(step string) error {
			steps[step] = true
			if left--; left == 0 {
				return errKilled
			}
			return nil
		})
		_, err := s.Archive(t.Context(), refs, later)
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		for _, ref := range refs {
			whole(t, other, ref)
		}
		if _, err := other.Archive(t.Context(), refs, later); err != nil {
			t.Errorf("killed at %d: %v", kill, err)
		}
		all, failed := other.Archived(t.Context())
		slices.Sort(all)
		if failed != nil || !slices.Equal(all, refs) {
			t.Errorf("killed at %d: the archive has %v, %v", kill, all, failed)
		}
		for _, ref := range refs {
			whole(t, other, ref)
			whole(t, s, ref)
			if _, err := other.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "id1"}); !errors.Is(err, thread.ErrNoThread) {
				t.Errorf("killed at %d: a key is left: %v", kill, err)
			}
		}
		if n, _, _ := other.State(t); n != 3+1+1 { // the ends of three threads, the index, and the format
			t.Errorf("killed at %d: the stream has %d messages", kill, n)
		}
		if err == nil {
			break
		}
	}
	if len(steps) != 4 {
		t.Errorf("the archive has the steps %v", steps)
	}
}

// Two exchanges that both believe to be the one that archives lose nothing, while late messages come.
func TestTwoArchivers(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	nodes := []*jetstream.Store{opened(t, c), opened(t, c)}
	var refs []string
	for n := range 40 {
		refs = append(refs, ended(t, nodes[0], n+1, ""))
	}
	late := map[string]bool{} // threads with a third message
	var g sync.WaitGroup
	for _, s := range nodes {
		g.Go(func() {
			for range 6 {
				_, err := s.Archive(t.Context(), refs, later)
				if err != nil && !errors.Is(err, thread.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	g.Go(func() {
		for _, ref := range refs {
			th, rev, err := nodes[1].Read(t.Context(), ref)
			if err != nil {
				t.Errorf("%s: %v", ref, err)
				continue
			}
			step := thread.Step{After: rev, Envelope: th.Envelope, Messages: th.Messages[1:]}
			step.Envelope.Ver++
			_, err = nodes[1].Append(t.Context(), step)
			switch {
			case err == nil:
				late[ref] = true
			case !errors.Is(err, thread.ErrStale) && !errors.Is(err, thread.ErrNoThread):
				t.Errorf("%s: %v", ref, err)
			}
		}
	})
	g.Wait()
	if _, err := nodes[0].Archive(t.Context(), refs, later); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d threads got a late message", len(late), len(refs))
	all, err := nodes[1].Archived(t.Context())
	slices.Sort(all)
	if err != nil || !slices.Equal(all, refs) {
		t.Errorf("the archive has %d threads, %v; want %d", len(all), err, len(refs))
	}
	for _, ref := range refs {
		want := 2
		if late[ref] {
			want = 3
		}
		for _, s := range nodes {
			if th, _, err := s.Read(t.Context(), ref); err != nil || len(th.Messages) != want {
				t.Errorf("%s has %d messages, %v; want %d", ref, len(th.Messages), err, want)
			}
		}
	}
}

// After a month the stream has nothing of an archived thread. The thread reads the same, its ref stays
// taken, and a feed goes on.
func TestArchivedThreadExpires(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, other := opened(t, c), opened(t, c)
	s.SetAges(time.Second, time.Hour, time.Hour)
	one := ended(t, s, 1, "")
	archiveAll(t, s, []string{one}, 1)
	for {
		if n, _, _ := s.State(t); n == 2 { // the index and the format
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the last message stays")
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, of := range []*jetstream.Store{s, other} {
		whole(t, of, one)
		if rev, err := of.Append(t.Context(), storetest.Step(one, "agent", "", storetest.Start)); !errors.Is(err, thread.ErrStale) {
			t.Errorf("a new thread with the ref: %q, %v; want ErrStale", rev, err)
		}
	}
	level := errors.New("level")
	if err := other.Feed(t.Context(), "", func(c thread.Change) error {
		if c.Level {
			return level
		}
		if c.Envelope.Ref != "" {
			t.Errorf("the feed has %s", c.Envelope.Ref)
		}
		return nil
	}); !errors.Is(err, level) {
		t.Error(err)
	}
}

// An index never makes the program crash.
func FuzzArchiveIndex(f *testing.F) {
	f.Add([]byte(`{"parts":[{"sum":"` + strings.Repeat("0", 64) + `","size":3,"threads":["2026-02-01-001"]}]}`))
	f.Add([]byte(`{"parts":[{"sum":"../x"}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if n, err := jetstream.ParseIndex(doc); err != nil && n > 0 {
			t.Errorf("%d parts, and %v", n, err)
		}
	})
}
