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

// capableThreads makes threads that have ended, that require capabilities and that use devices. It
// returns these by ref. The log of ended threads has the first n; it lacks the last one.
func capableThreads(t *testing.T, s *Store, n int) map[string]thread.Subjects {
	t.Helper()
	want := map[string]thread.Subjects{}
	for i := range n + 1 {
		if i == n {
			s.rests(t)
		}
		id := fmt.Sprint("n", i)
		ref := messeaf.Ref("2026-02-14", i+1, id)
		req := mess.Request{ID: id, Intent: "look"}
		for k := range i % 3 {
			req.Requires = append(req.Requires, mess.Capability{ID: fmt.Sprint("c", (i+k)%4), Meta: mess.Object{{Key: "devices", Value: []any{fmt.Sprint("d", i%5)}}}})
		}
		claim := &mess.Status{Code: mess.Claimed}
		for k := range i % 4 {
			claim.Extra = mess.Object{{Key: mess.UsesField, Value: []any{mess.Object{{Key: "device", Value: fmt.Sprint("u", k)}, {Key: "capability", Value: "c0"}}}}}
		}
		e := thread.Envelope{Ref: ref, ClientID: id, Requester: "agent", Executor: []string{"pi", ""}[i%7/6], Status: mess.Completed, Phase: thread.Finished, Created: month, Updated: month, Intent: "look", Priority: mess.Normal, Ver: 1, Needs: thread.NeedsOf(req)}
		e.SetUses(claim.Extra)
		messages := []mess.Message{{From: "agent", Received: mess.TimeOf(month), Items: []mess.Item{&req}}, {From: "pi", Received: mess.TimeOf(month), Items: []mess.Item{claim}}}
		if _, err := s.Append(t.Context(), thread.Step{Keys: []thread.Key{{Owner: "agent", Name: id}}, Envelope: e, Messages: messages}); err != nil {
			t.Fatal(err)
		}
		want[ref] = thread.Subjects{Capabilities: logformat.CapabilitiesOf(e), Devices: e.Devices()}
	}
	return want
}

// forgetSubjects writes the log of ended threads as an earlier release does.
func (s *Store) forgetSubjects(t *testing.T, forget func(*logformat.Entry)) {
	t.Helper()
	for n, b := range slices.Clone(s.index.ended.blocks) {
		all, err := s.index.ended.read(b, logformat.UnchangedName)
		if err != nil {
			t.Fatal(err)
		}
		var old relearned
		for i, e := range all {
			if p := place(n*logformat.BlockEntries + i); b.dead&p.mask() == 0 {
				forget(&e)
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

// forgetAll forgets what a release without subjects does not know.
func forgetAll(e *logformat.Entry) { e.Requires, e.Devices = nil, nil }

// subjects returns the subjects that the feed gives, by ref.
func (s *Store) subjects(t *testing.T) map[string]thread.Subjects {
	t.Helper()
	got := map[string]thread.Subjects{}
	if err := s.Since(0, func(c tail.Change) error {
		if _, twice := got[c.Envelope.Ref]; twice {
			t.Errorf("the feed has %s twice", c.Envelope.Ref)
		}
		devices := c.Devices
		if !c.Outline {
			devices = c.Envelope.Devices()
		}
		got[c.Envelope.Ref] = thread.Subjects{Capabilities: logformat.CapabilitiesOf(c.Envelope), Devices: devices}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// learn calls ReadSubjects, and returns what it says.
func (s *Store) learn(t *testing.T) (map[string]thread.Subjects, error) {
	got := map[string]thread.Subjects{}
	err := s.ReadSubjects(t.Context(), func(of map[string]thread.Subjects) { maps.Copy(got, of) })
	return got, err
}

// The feed has the required capabilities and the devices of threads that have ended. For threads of
// an earlier release the store reads them from the folders, once.
func TestSubjectsOfEarlierRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("it calculates; its long form runs without the race detector")
	}
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
	if diff := gocmp.Diff(want, s.subjects(t)); diff != "" || s.LacksSubjects() {
		t.Fatalf("lacks some: %v (-want +got):\n%s", s.LacksSubjects(), diff)
	}
	for _, forget := range []func(*logformat.Entry){forgetAll, func(e *logformat.Entry) { e.Devices = nil }} {
		s.forgetSubjects(t, forget)
		again()
		if !s.LacksSubjects() || gocmp.Equal(want, s.subjects(t)) {
			t.Fatal("the store knows what an earlier release has not written")
		}
		if got, err := s.learn(t); err != nil || !gocmp.Equal(want, got) {
			t.Fatalf("%v (-want +got):\n%s", err, gocmp.Diff(want, got))
		}
		for range 2 {
			if diff := gocmp.Diff(want, s.subjects(t)); diff != "" || s.LacksSubjects() {
				t.Fatalf("lacks some: %v (-want +got):\n%s", s.LacksSubjects(), diff)
			}
			if got, err := s.learn(t); err != nil || len(got) > 0 {
				t.Errorf("the store reads %d threads again, %v", len(got), err)
			}
			again()
		}
	}
	for i := range n {
		if ref, ok := s.index.find(thread.Key{Owner: "agent", Name: fmt.Sprint("n", i)}); !ok || want[ref].Devices == nil {
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
	s.forgetSubjects(t, forgetAll)
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
	if err != nil || len(got) != len(want)-1 || got[ref].Devices != nil || s.LacksSubjects() {
		t.Errorf("%v, %v, lacks more: %v", got, err, s.LacksSubjects())
	}
	if err := errors.Join(s.Close(), os.WriteFile(names[0], data, 0o600)); err != nil {
		t.Fatal(err)
	}
	s = openQuiet(t, dir)
	if got, err := s.learn(t); err != nil || len(got) != 1 || !gocmp.Equal(got[ref], want[ref]) {
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
	s.forgetSubjects(t, forgetAll)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openQuiet(t, dir)
	changed, removed := messeaf.Ref("2026-02-14", 5, "n4"), messeaf.Ref("2026-02-14", 6, "n5")
	first := true
	err := s.ReadSubjects(t.Context(), func(of map[string]thread.Subjects) {
		if !first || of[changed].Devices == nil {
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
		if diff := gocmp.Diff(want, s.subjects(t)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		if th, _, err := s.Read(t.Context(), changed); err != nil || len(th.Messages) != 3 {
			t.Errorf("%s: %d messages, %v", changed, len(th.Messages), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openQuiet(t, dir)
	}
	s.forgetSubjects(t, forgetAll)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openQuiet(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	if err := s.ReadSubjects(ctx, func(map[string]thread.Subjects) { stop() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
