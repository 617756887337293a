package files_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// firstFormat unpacks a folder that an exchange with the first format has made. It has a pending
// thread, an ended one with an image, a claimed one, one without a client id, and a registered
// executor.
func firstFormat(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("tar", "-xzf", "testdata/format1.tar.gz", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return dir
}

// A store opens a folder of the first format unchanged, and continues in it.
func TestFirstFormatIsRead(t *testing.T) {
	dir := firstFormat(t)
	for range 2 {
		s := open(t, dir)
		got := map[string]mess.Code{}
		for _, e := range list(t, s) {
			got[e.Ref] = e.Status
		}
		want := map[string]mess.Code{
			"2026-02-01-001-waits": mess.Pending, "2026-02-01-002-ended": mess.Completed,
			"2026-02-01-003-begun": mess.Claimed, "2026-02-01-004": mess.Pending,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("threads (-want +got):\n%s", diff)
		}
		if ref, err := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "ended"}); err != nil || ref != "2026-02-01-002-ended" {
			t.Errorf("Lookup: %s, %v", ref, err)
		}
		if serial := s.Serials()["2026-02-01"]; serial != 4 {
			t.Errorf("the day goes on after %d, want 4", serial)
		}
		if docs := documents(t, s); len(docs) != 1 || !strings.Contains(docs["executor kitchen-pi"], "take-photo") {
			t.Errorf("documents: %v", docs)
		}
		f, err := s.Attachment(t.Context(), "2026-02-01-002-ended", "att-003-image-fridge.jpg")
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(f); err != nil || string(data) != "a picture" {
			t.Errorf("%q, %v", data, err)
		}
		if err := errors.Join(f.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	defer s.Close()
	for ref, code := range map[string]mess.Code{"2026-02-01-001-waits": mess.Claimed, "2026-02-01-002-ended": mess.Completed} {
		th, rev, err := s.Read(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		th.Ver++
		th.Status = code
		if _, err := s.Append(t.Context(), thread.Step{After: rev, Envelope: th.Envelope}); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// A release that knows only the first format, or an earlier format than the log has, rejects a
// folder with a remedy in its error.
func TestDowngradeIsRejected(t *testing.T) {
	dir := firstFormat(t)
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	// record is the part of a record that the first format decodes.
	type record struct {
		Thread *struct {
			Updated time.Time `json:"updated"`
		} `json:"thread"`
	}
	decode := func(data []byte) error {
		line, _, _ := strings.Cut(string(data), "\n")
		return json.Unmarshal([]byte(line), &record{})
	}
	log, err := wal.Open(filepath.Join(dir, "log"), decode)
	if err == nil || !strings.Contains(err.Error(), "this folder was last used by a newer messkit; install that one again") {
		t.Errorf("the first format: %v", err)
	}
	if err == nil {
		log.Close()
	}
	log, err = wal.Open(filepath.Join(dir, "log"), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Append(t.Context(), []byte(`{"format":99}`)), log.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Open(dir); err == nil || !strings.Contains(err.Error(), "has format 99, and this messkit knows 3; install the newer messkit") {
		t.Errorf("format 99: %v", err)
	}
}

// A position of the feed stays valid after a restart and after a compaction.
func TestPositionsStayValid(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	positions := map[string]thread.Pos{} // of the last change of each thread
	read := func(after thread.Pos) (refs []string, last thread.Pos) {
		t.Helper()
		err := s.Feed(t.Context(), after, func(c thread.Change) error {
			if last = c.Pos; c.Level {
				return errLevel
			}
			positions[c.Envelope.Ref+c.ID] = c.Pos
			refs = append(refs, c.Envelope.Ref+c.ID)
			return nil
		})
		if !errors.Is(err, errLevel) {
			t.Fatal(err)
		}
		return refs, last
	}
	fill(t, s, "a", 3, 10)
	read("")
	was := positions["2026-02-01-001-a"]
	fill(t, s, "b", 7, 650<<10) // large enough for a compaction at the close
	if _, err := s.Put(t.Context(), "executor", "pi", []byte("{}"), ""); err != nil {
		t.Fatal(err)
	}
	end := func(n int) {
		th, rev, err := s.Read(t.Context(), "2026-02-01-002-b")
		if err != nil {
			t.Fatal(err)
		}
		th.Ver++
		th.Status, th.Phase = mess.Completed, thread.Finished
		if _, err := s.Append(t.Context(), thread.Step{After: rev, Envelope: th.Envelope}); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
	}
	end(0)
	for range 3 { // the last changes leave nothing
		rev, err := s.Put(t.Context(), "executor", "gone", []byte("{}"), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "executor", "gone", nil, rev); err != nil {
			t.Fatal(err)
		}
	}
	_, last := read("")
	for n := range 3 { // a close compacts a large log
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		got, now := read(was)
		if diff := cmp.Diff([]string{"pi", "2026-02-01-002-b"}, got); diff != "" || now != last {
			t.Errorf("start %d, up to %s, want %s (-want +got):\n%s", n, now, last, diff)
		}
		if got, _ := read(last); len(got) > 0 {
			t.Errorf("start %d: after the last position came %v", n, got)
		}
	}
	// The next change has a later position.
	fill(t, s, "c", 0, 0)
	if got, _ := read(last); len(got) != 1 || got[0] != "2026-02-01-003-c" {
		t.Errorf("after the last position came %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil { // an older or another store
		t.Fatal(err)
	}
	s = open(t, dir)
	defer s.Close()
	if got, _ := read("999999"); len(got) != 3 {
		t.Errorf("after a position that the store has not reached came %v, want all", got)
	}
}
