package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

func open(t *testing.T, dir string) *files.Store {
	t.Helper()
	s, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) thread.Store { return open(t, t.TempDir()) })
}

// fill stores a thread with n steps, each with a message of that many bytes.
func fill(t *testing.T, s *files.Store, id string, n, size int) string {
	t.Helper()
	now := time.Date(2026, 2, 1, 17, 0, 0, 0, time.FixedZone("", -8*3600))
	ref := newRef(s, id)
	req := mess.Request{ID: id, Intent: "look", Context: []mess.Entry{mess.ObjectEntry("x", map[string]any{"kept": []any{1, "é"}})}}
	step := thread.Step{
		Keys:     []thread.Key{{Owner: "agent", Name: id}},
		Envelope: thread.Envelope{Ref: ref, ClientID: id, Requester: "agent", Status: mess.Pending, Created: now, Updated: now, Ver: 1, Intent: "look", Needs: thread.NeedsOf(req)},
		Messages: []mess.Message{{From: "agent", Ref: ref, Items: []mess.Item{&req}}},
	}
	rev, err := s.Append(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		e := step.Envelope
		e.Ver = uint64(i + 2)
		e.Status, e.Executor, e.Epoch = mess.InProgress, "pi", 1
		e.History = append(e.History, thread.HistoryEntry{Action: "claimed", At: now, By: "pi"})
		m := mess.Message{From: "pi", Re: mess.Refs{e.Ref}, Epoch: 1, Items: []mess.Item{&mess.Status{Code: mess.InProgress, Message: strings.Repeat("x", size)}}}
		if rev, err = s.Append(t.Context(), thread.Step{After: rev, Envelope: e, Messages: []mess.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	return ref
}

// newRef returns the next ref of a day.
func newRef(s *files.Store, id string) string {
	return messeaf.Ref("2026-02-01", s.Serials()["2026-02-01"]+1, id)
}

// documents returns all documents, by kind and id.
func documents(t *testing.T, s *files.Store) map[string]string {
	t.Helper()
	docs := map[string]string{}
	err := s.Feed(t.Context(), "", func(c thread.Change) error {
		if c.Level {
			return errLevel
		}
		if c.Kind != "" {
			docs[c.Kind+" "+c.ID] = string(c.Doc)
		}
		return nil
	})
	if !errors.Is(err, errLevel) {
		t.Fatal(err)
	}
	return docs
}

// list lists envelopes, newest change first.
func list(t *testing.T, s *files.Store) (all []thread.Envelope) {
	t.Helper()
	err := s.Feed(t.Context(), "", func(c thread.Change) error {
		if c.Level {
			return errLevel
		}
		e := c.Envelope
		if c.Outline {
			var err error
			if e, err = s.Envelope(t.Context(), e.Ref); err != nil {
				return err
			}
		}
		if c.Kind == "" {
			all = slices.DeleteFunc(all, func(o thread.Envelope) bool { return o.Ref == e.Ref })
		}
		if c.Kind == "" && !c.Removed {
			all = append(all, e)
		}
		return nil
	})
	if !errors.Is(err, errLevel) {
		t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

var errLevel = errors.New("level")

func all(t *testing.T, s *files.Store) []thread.Thread {
	t.Helper()
	var threads []thread.Thread
	for _, e := range list(t, s) {
		th, _, err := s.Read(t.Context(), e.Ref)
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, th)
	}
	return threads
}

// After a restart the store has the same data in the same order, and days continue after their
// last serial.
func TestReopenedStoreIsTheSame(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := fill(t, s, "a", 3, 10)
	b := fill(t, s, "b", 0, 0)
	staged, err := s.Stage(t.Context(), strings.NewReader("a picture"), 100)
	if err != nil {
		t.Fatal(err)
	}
	th, _, err := s.Read(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	th.Ver++
	step := thread.Step{After: revOf(th.Ver - 1), Envelope: th.Envelope, Binds: []thread.Bind{{Name: "att-005-image-x.jpg", SHA256: staged.SHA256}}}
	_, err = s.Append(t.Context(), step)
	_, err2 := s.Put(t.Context(), "executor", "pi", []byte("{}"), "")
	rev, err3 := s.Put(t.Context(), "executor", "gone", []byte("{}"), "")
	_, err4 := s.Put(t.Context(), "executor", "gone", nil, rev)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	want := all(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open(t, dir)
		if diff := cmp.Diff(want, all(t, s)); diff != "" {
			t.Error(diff)
		}
		f, err := s.Attachment(t.Context(), a, "att-005-image-x.jpg")
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(f); err != nil || string(data) != "a picture" {
			t.Errorf("%q, %v", data, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if docs := documents(t, s); len(docs) != 1 || docs["executor pi"] != "{}" {
			t.Errorf("%v", docs)
		}
		if ref, err := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "b"}); err != nil || ref != b {
			t.Errorf("%s, %v", ref, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	defer s.Close()
	if c := fill(t, s, "c", 0, 0); c != "2026-02-01-003-c" {
		t.Errorf("the next ref is %s", c)
	}
}

// A compaction of a growing log loses no data.
func TestCompactionLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it calculates; its long form runs without the race detector")
	}
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 4 {
		fill(t, s, fmt.Sprint("t", i), 7, 650<<10) // few and large: each waits for the disk
	}
	want := all(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open(t, dir)
		if diff := cmp.Diff(want, all(t, s)); diff != "" {
			t.Fatal(diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The second program on one folder gets an error.
func TestSecondProgramIsRejected(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	if _, err := files.Open(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("another program (process %d) has it open", os.Getpid())) {
		t.Errorf("got %v", err)
	}
}

// The store has either stored a cancelled step or not: Append and Lookup agree.
func TestCancelledStep(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Append(ctx, storetest.Step("2026-02-01-001", "agent", "x", time.Now()))
	ref, find := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "x"})
	if (err == nil) != (find == nil) {
		t.Errorf("Append: %v; Lookup: %s, %v", err, ref, find)
	}
}

// At its start, the store removes incomplete and old unreferenced attachments. It keeps recent
// attachments and foreign files.
func TestLeftoverAttachmentsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, "a", 0, 0)
	if _, err := s.Stage(t.Context(), strings.NewReader("on its way"), 100); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "attachments")
	old := strings.Repeat("0", 64)
	for _, name := range []string{"staged-123", old, "notes.txt"} {
		if err := os.WriteFile(filepath.Join(at, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-30 * 24 * time.Hour)
	if err := errors.Join(os.Chtimes(filepath.Join(at, old), long, long), os.Chtimes(filepath.Join(at, "notes.txt"), long, long)); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	defer s.Close()
	entries, err := os.ReadDir(at)
	if err != nil || len(entries) != 2 || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "notes.txt" }) {
		t.Errorf("%v, %v", entries, err)
	}
}

// The store counts the size of each image and file once, also after a restart.
func TestFilesAreCounted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, "counted", 1, 10)
	want := func(size, total, today int64) {
		t.Helper()
		if a, b, c := s.WrittenFiles(); a != size || b != total || c != today && c != 0 { // it may be past midnight
			t.Errorf("%d bytes, %d written, %d today; want %d, %d, %d", a, b, c, size, total, today)
		}
	}
	want(0, 0, 0)
	for _, data := range []string{"a picture", "a picture", "another"} {
		if _, err := s.Stage(t.Context(), strings.NewReader(data), 100); err != nil {
			t.Fatal(err)
		}
	}
	want(16, 25, 25)
	if _, err := s.Stage(t.Context(), strings.NewReader("too large"), 3); err == nil {
		t.Error("Stage of a too large file succeeds, want an error")
	}
	want(16, 25, 25)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	want(16, 0, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// revOf returns the revision for a version of a thread.
func revOf(ver uint64) thread.Rev { return thread.Rev(fmt.Sprint(ver)) }
