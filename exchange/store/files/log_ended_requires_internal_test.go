package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/tail"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// capableThreads makes threads that have ended and that require capabilities. It returns these by
// ref. The log of ended threads has the first n; it lacks the last one.
func capableThreads(t *testing.T, s *Store, n int) map[string][]string {
	t.Helper()
	want := map[string][]string{}
	for i := range n + 1 {
		if i == n {
			s.rests(t)
		}
		id := fmt.Sprint("n", i)
		ref := messeaf.Ref("2026-02-14", i+1, id)
		req := mess.Request{ID: id, Intent: "look"}
		for k := range i % 3 {
			req.Requires = append(req.Requires, mess.Capability{ID: fmt.Sprint("c", (i+k)%4)})
		}
		e := thread.Envelope{Ref: ref, ClientID: id, Requester: "agent", Status: mess.Completed, Phase: thread.Finished, Created: month, Updated: month, Intent: "look", Priority: mess.Normal, Ver: 1, Needs: thread.NeedsOf(req)}
		m := mess.Message{From: "agent", Received: mess.TimeOf(month), Items: []mess.Item{&req}}
		if _, err := s.Append(t.Context(), thread.Step{Keys: []thread.Key{{Owner: "agent", Name: id}}, Envelope: e, Messages: []mess.Message{m}}); err != nil {
			t.Fatal(err)
		}
		want[ref] = logformat.CapabilitiesOf(e)
	}
	return want
}

// forgetRequires writes the log of ended threads as an earlier release does.
func (s *Store) forgetRequires(t *testing.T) {
	t.Helper()
	for n, b := range slices.Clone(s.index.ended.blocks) {
		all, err := s.index.ended.read(b, logformat.UnchangedName)
		if err != nil {
			t.Fatal(err)
		}
		var old relearned
		for i, e := range all {
			if p := place(n*logformat.BlockEntries + i); b.dead&p.mask() == 0 {
				e.Requires = nil
				old.from, old.entries = append(old.from, p), append(old.entries, e)
			}
		}
		if len(old.entries) == 0 {
			continue
		}
		places, err := s.index.ended.log.Put(t.Context(), logformat.EncodeBlock(old.entries))
		if err != nil {
			t.Fatal(err)
		}
		s.index.replaceBlocks(nil, []relearned{old}, places)
	}
}

// requires returns the required capabilities that the feed gives, by ref.
func (s *Store) requires(t *testing.T) map[string][]string {
	t.Helper()
	got := map[string][]string{}
	if err := s.Since(0, func(c tail.Change) error {
		if _, twice := got[c.Envelope.Ref]; twice {
			t.Errorf("the feed has %s twice", c.Envelope.Ref)
		}
		got[c.Envelope.Ref] = logformat.CapabilitiesOf(c.Envelope)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// learn calls ReadCapabilities, and returns what it says.
func (s *Store) learn(t *testing.T) (map[string][]string, error) {
	got := map[string][]string{}
	err := s.ReadCapabilities(t.Context(), func(of map[string][]string) { maps.Copy(got, of) })
	return got, err
}

// The feed has the required capabilities of threads that have ended. For threads of an earlier
// release the store reads them from the folders, once.
func TestRequiredCapabilitiesOfEarlierRelease(t *testing.T) {
	const n = 2*logformat.BlockEntries + 7
	dir := t.TempDir()
	s := openQuiet(t, dir)
	want := capableThreads(t, s, n)
	again := func() {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openQuiet(t, dir)
	}
	again()
	if diff := gocmp.Diff(want, s.requires(t)); diff != "" || s.LacksCapabilities() {
		t.Fatalf("lacks some: %v (-want +got):\n%s", s.LacksCapabilities(), diff)
	}
	s.forgetRequires(t)
	again()
	if !s.LacksCapabilities() || gocmp.Equal(want, s.requires(t)) {
		t.Fatal("the store knows what an earlier release has not written")
	}
	if got, err := s.learn(t); err != nil || !gocmp.Equal(want, got) {
		t.Fatalf("%v (-want +got):\n%s", err, gocmp.Diff(want, got))
	}
	for range 2 {
		if diff := gocmp.Diff(want, s.requires(t)); diff != "" || s.LacksCapabilities() {
			t.Fatalf("lacks some: %v (-want +got):\n%s", s.LacksCapabilities(), diff)
		}
		if got, err := s.learn(t); err != nil || len(got) > 0 {
			t.Errorf("the store reads %d threads again, %v", len(got), err)
		}
		again()
	}
	for i := range n {
		if ref, ok := s.index.find(thread.Key{Owner: "agent", Name: fmt.Sprint("n", i)}); !ok || want[ref] == nil {
			t.Errorf("the key of thread %d finds %q", i, ref)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A thread whose folder is unreadable does not keep the others from lists, and its folder counts
// as soon as it is readable at a start.
func TestUnreadableFolderIsReadAtNextStart(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	want := capableThreads(t, s, 10)
	s.rests(t)
	s.forgetRequires(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ref := messeaf.Ref("2026-02-14", 3, "n2")
	names, err := filepath.Glob(filepath.Join(dir, threadDir(messeaf.Finished, ref), "000-*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], []byte("\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = openQuiet(t, dir)
	got, err := s.learn(t)
	if err != nil || len(got) != len(want)-1 || got[ref] != nil || s.LacksCapabilities() {
		t.Errorf("%v, %v, lacks more: %v", got, err, s.LacksCapabilities())
	}
	if err := errors.Join(s.Close(), os.WriteFile(names[0], data, 0o600)); err != nil {
		t.Fatal(err)
	}
	s = openQuiet(t, dir)
	if got, err := s.learn(t); err != nil || len(got) != 1 || !slices.Equal(got[ref], want[ref]) {
		t.Errorf("%v, %v; want %s alone", got, err, ref)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Threads change and disappear while the store reads the capabilities: the store keeps the newest
// state, and it ends early if the caller ends.
func TestThreadChangesDuringReadOfCapabilities(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	want := capableThreads(t, s, logformat.BlockEntries+3)
	s.rests(t)
	s.forgetRequires(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openQuiet(t, dir)
	changed, removed := messeaf.Ref("2026-02-14", 5, "n4"), messeaf.Ref("2026-02-14", 6, "n5")
	first := true
	err := s.ReadCapabilities(t.Context(), func(of map[string][]string) {
		if !first || of[changed] == nil {
			return // the first blocks have both
		}
		first = false
		th, rev, err := s.Read(t.Context(), changed)
		if err != nil {
			t.Error(err)
		}
		th.Ver++
		if _, err := s.Append(t.Context(), thread.Step{After: rev, Envelope: th.Envelope, Messages: []mess.Message{{From: "pi", Items: []mess.Item{&mess.Status{Code: mess.Completed}}}}}); err != nil {
			t.Error(err)
		}
		if err := s.store(t.Context(), []logformat.Record{{Gone: removed}}); err != nil {
			t.Error(err)
		}
	})
	if err != nil || first {
		t.Fatalf("%v; it read the threads of the first block first: %v", err, !first)
	}
	if err := os.RemoveAll(filepath.Join(dir, threadDir(messeaf.Finished, removed))); err != nil {
		t.Fatal(err)
	}
	delete(want, removed)
	for range 2 {
		if diff := gocmp.Diff(want, s.requires(t)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		if th, _, err := s.Read(t.Context(), changed); err != nil || len(th.Messages) != 2 {
			t.Errorf("%s: %d messages, %v", changed, len(th.Messages), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openQuiet(t, dir)
	}
	s.forgetRequires(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openQuiet(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	if err := s.ReadCapabilities(ctx, func(map[string][]string) { stop() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
