package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/store/tail"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// month is the time at which the threads of these tests ended.
var month = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

// endedThreads makes threads that have ended, each with an attachment, and waits until the log
// of ended threads has them.
func endedThreads(t *testing.T, s *Store, from, n int) (refs []string) {
	t.Helper()
	for i := from; i < from+n; i++ {
		staged, err := s.Stage(t.Context(), strings.NewReader(fmt.Sprint("picture ", i)), 100)
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("n", i)
		ref := messeaf.Ref("2026-02-14", i, id)
		e := thread.Envelope{Ref: ref, ClientID: id, Requester: "agent", Status: mess.Completed, Phase: thread.Finished, Created: month, Updated: month, Intent: "look", Priority: mess.Normal, Ver: 1}
		m := mess.Message{From: "agent", Received: mess.TimeOf(month), Items: []mess.Item{&mess.Request{ID: id, Intent: "look"}}}
		name := "att-001-file-note.txt"
		if _, err := s.Append(t.Context(), thread.Step{Keys: []thread.Key{{Owner: "agent", Name: id}}, Envelope: e, Messages: []mess.Message{m}, Binds: []thread.Bind{{Name: name, SHA256: staged.SHA256}}}); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	s.rests(t)
	return refs
}

// rests updates the folders and releases the threads that have ended.
func (s *Store) rests(t *testing.T) {
	t.Helper()
	for {
		ref, _ := s.project.next()
		if ref == "" {
			break
		}
		s.project.process(t.Context(), ref)
	}
	s.project.releaseEnded(t.Context())
	if err := s.keepEnded(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

// archiveNow archives all threads that have ended, after a moment without writes.
func (s *Store) archiveNow(t *testing.T) {
	t.Helper()
	time.Sleep(quiet)
	if err := s.archiveBefore(t.Context(), month.AddDate(0, 2, 0), true); err != nil {
		t.Fatal(err)
	}
}

// Threads in the archive are the same as those of other stores.
func TestArchivedThreadsConform(t *testing.T) {
	s := openQuiet(t, t.TempDir())
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	storetest.RunArchived(t, s, func() {
		s.rests(t)
		s.archiveNow(t)
	})
}

func openQuiet(t *testing.T, dir string) *Store {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := cfg.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listedThreads lists the threads that a follower of the feed gets.
func (s *Store) listedThreads(t *testing.T) (refs []string) {
	t.Helper()
	if err := s.Since(0, func(c tail.Change) error {
		if c.Kind == "" && !c.Removed {
			refs = append(refs, c.Envelope.Ref)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(refs)
	return refs
}

// wantFound checks that the store finds threads by their refs, with their attachments, and
// that no other thread can have such a ref.
func wantFound(t *testing.T, s *Store, refs []string) {
	t.Helper()
	for _, ref := range refs {
		th, _, err := s.Read(t.Context(), ref)
		if err != nil || th.Status != mess.Completed || len(th.Messages) != 1 {
			t.Errorf("%s: %s, %d messages, %v", ref, th.Status, len(th.Messages), err)
			continue
		}
		if s.isFree(ref) {
			t.Errorf("%s can be given again", ref)
		}
		f, err := s.Attachment(t.Context(), ref, "att-001-file-note.txt")
		if err != nil {
			t.Errorf("%s: attachment: %v", ref, err)
			continue
		}
		data, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil || !strings.HasPrefix(string(data), "picture ") {
			t.Errorf("%s: attachment %q, %v", ref, data, err)
		}
	}
}

// folders lists the threads that have a folder.
func (s *Store) folders(t *testing.T) (refs []string) {
	t.Helper()
	for _, f := range messeaf.Folders {
		places, err := messeaf.ListFolder(s.tree(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range places {
			refs = append(refs, p.Ref)
		}
	}
	return refs
}

// Threads that ended long ago are in one growing archive for each month. The store finds them by
// their refs, also after a restart and without its logs.
func TestArchivesOfAMonth(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	refs := endedThreads(t, s, 1, 3)
	s.archiveNow(t)
	refs = append(refs, endedThreads(t, s, 4, 2)...)
	s.archiveNow(t)
	if left := slices.Concat(s.folders(t), s.listedThreads(t)); len(left) > 0 {
		t.Errorf("in folders or lists: %s", left)
	}
	if all, err := os.ReadDir(filepath.Join(dir, "archive")); err != nil || len(all) != 1 || all[0].Name() != "2026-02.messe-af.zip" {
		t.Errorf("archives: %s, %v", all, err)
	}
	wantFound(t, s, refs)
	for _, spoil := range []string{"", "log/ended", "log"} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if spoil != "" {
			if err := os.RemoveAll(filepath.Join(dir, spoil)); err != nil {
				t.Fatal(err)
			}
		}
		s = openQuiet(t, dir)
		wantFound(t, s, refs)
		if highest := archive.HighestSerial(s.root, "2026-02-14"); highest != 5 {
			t.Errorf("the day goes on after %d, want 5", highest)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// The store writes an archive when it has all threads for it, or after the end of its period.
func TestArchivesOfPastPeriods(t *testing.T) {
	s := openQuiet(t, t.TempDir())
	defer s.Close()
	refs := endedThreads(t, s, 1000, 2) // the last of one archive, the first of the next
	time.Sleep(quiet)
	for _, c := range []struct {
		at   time.Time
		past bool
		left int
	}{{month.Add(time.Hour), true, 2}, {month.AddDate(0, 0, 3), false, 2}, {month.AddDate(0, 0, 3), true, 0}} {
		if err := s.archiveBefore(t.Context(), c.at, c.past); err != nil {
			t.Fatal(err)
		}
		if left := s.folders(t); len(left) != c.left {
			t.Errorf("%v, %v: %s are in folders, want %d", c.at, c.past, left, c.left)
		}
	}
	wantFound(t, s, refs)
}

// The store reads the entries of an archive when it writes that archive, so that it has few of them
// in memory.
func TestArchivalReadsOneArchiveAtATime(t *testing.T) {
	s := openQuiet(t, t.TempDir())
	defer s.Close()
	var refs []string
	for _, first := range []int{1, 40, 1001, 2001} { // each belongs to another archive
		refs = append(refs, endedThreads(t, s, first, 1)...)
	}
	var reads, archives int
	record := s.index.ended.record
	s.index.ended.record = func(at wal.Place) ([]byte, error) {
		reads++
		return record(at)
	}
	s.atCrash = func(step string) {
		if step != "archive written" {
			return
		}
		if archives++; reads == 0 {
			t.Errorf("the store had the entries of archive %d before it wrote the one before", archives)
		}
		reads = 0
	}
	s.archiveNow(t)
	if archives != 4 {
		t.Errorf("%d archives, want 4", archives)
	}
	s.atCrash = nil
	wantFound(t, s, refs)
}

// The program dies at each possible step of an archival. The next start has every thread once,
// and archives the rest.
func TestArchivalSurvivesCrash(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	refs := endedThreads(t, s, 1, 2)
	s.archiveNow(t)
	refs = append(refs, endedThreads(t, s, 3, 2)...)
	var copies, steps []string
	s.atCrash = func(step string) {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Error(err)
		}
		copies, steps = append(copies, to), append(steps, step)
	}
	s.archiveNow(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"archive written", "archive renamed", "folder moved", "folder moved", "folders removed"}
	if !slices.Equal(steps, want) {
		t.Fatalf("steps: %q, want %q", steps, want)
	}
	for i, dir := range copies {
		t.Run(fmt.Sprint(i, " ", strings.ReplaceAll(steps[i], " ", "_")), func(t *testing.T) {
			s := openQuiet(t, dir)
			wantFound(t, s, refs)
			time.Sleep(quiet)
			s.rests(t)
			s.archiveNow(t)
			wantFound(t, s, refs)
			if left := s.folders(t); len(left) > 0 {
				t.Errorf("folders: %s", left)
			}
			if _, err := s.root.Lstat("set-aside"); !errors.Is(err, fs.ErrNotExist) {
				t.Error("a folder was set aside")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openQuiet(t, dir)
			wantFound(t, s, refs)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A folder with a file of a person stays, and its thread with it. A copy of an archived thread
// does not start again.
func TestArchivalKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	defer s.Close()
	refs := endedThreads(t, s, 1, 2)
	note := filepath.Join(dir, "state=finished", refs[0], "my notes.txt")
	if err := os.WriteFile(note, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir()
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(dir, "state=finished", refs[1]))); err != nil {
		t.Fatal(err)
	}
	s.archiveNow(t)
	if left := s.folders(t); !slices.Equal(left, refs[:1]) {
		t.Errorf("folders: %s, want %s", left, refs[:1])
	}
	if data, err := os.ReadFile(note); string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.CopyFS(filepath.Join(dir, "state=received", refs[1]), os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(quiet)
	s.project.process(t.Context(), refs[1])
	if left := s.folders(t); !slices.Equal(left, refs[:1]) {
		t.Errorf("folders: %s, want %s", left, refs[:1])
	}
	if aside, err := os.ReadDir(filepath.Join(dir, "set-aside")); err != nil || len(aside) != 1 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	wantFound(t, s, refs)
}

// A thread that changes during its archival keeps its folder with the change.
func TestChangedThreadIsNotArchived(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	defer s.Close()
	refs := endedThreads(t, s, 1, 2)
	s.atCrash = func(step string) {
		if step != "archive renamed" {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "state=finished", refs[0], "att-009-file-new.txt"), []byte("new"), 0o600); err != nil {
			t.Error(err)
		}
	}
	s.archiveNow(t)
	if left := s.folders(t); !slices.Equal(left, refs[:1]) {
		t.Errorf("folders: %s, want %s", left, refs[:1])
	}
	s.atCrash = nil
	s.archiveNow(t)
	f, err := s.Attachment(context.Background(), refs[0], "att-009-file-new.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantFound(t, s, refs)
}
