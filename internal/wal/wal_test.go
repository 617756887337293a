package wal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/wal"
)

var small = wal.Options{SegmentBytes: 256}

// read opens the log in dir, closes it, and returns its records.
func read(t *testing.T, o wal.Options, dir string) ([]string, error) {
	t.Helper()
	var got []string
	l, err := o.Open(dir, func(r []byte) error { got = append(got, string(r)); return nil })
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return got, nil
}

func mustRead(t *testing.T, o wal.Options, dir string) []string {
	t.Helper()
	got, err := read(t, o, dir)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return got
}

func open(t *testing.T, o wal.Options, dir string) *wal.Log {
	t.Helper()
	l, err := o.Open(dir, func([]byte) error { return nil })
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func write(t *testing.T, o wal.Options, dir string, records ...string) {
	t.Helper()
	l := open(t, o, dir)
	for _, r := range records {
		if err := l.Append(t.Context(), []byte(r)); err != nil {
			t.Fatalf("Append(%q): %v", r, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func lines(n int) []string {
	var l []string
	for i := range n {
		l = append(l, fmt.Sprintf("record %d %s", i, strings.Repeat("x", i%40)))
	}
	return l
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func TestAppendedRecordsAreReplayed(t *testing.T) {
	for _, o := range []wal.Options{small, wal.DefaultOptions()} {
		dir := t.TempDir()
		want := append(lines(50), "")
		for _, part := range [][]string{want[:20], want[20:21], want[21:]} {
			write(t, o, dir, part...)
		}
		if diff := cmp.Diff(want, mustRead(t, o, dir)); diff != "" {
			t.Errorf("segments of %d (-want +got):\n%s", o.SegmentBytes, diff)
		}
	}
}

func TestManyAppendersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	l := open(t, wal.DefaultOptions(), dir)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 20 {
				if err := l.Append(t.Context(), fmt.Appendf(nil, "%d/%d", i, j), []byte("second")); err != nil {
					t.Errorf("Append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	next := map[string]int{}
	for i, r := range mustRead(t, wal.DefaultOptions(), dir) {
		who, n, ok := strings.Cut(r, "/")
		if (r == "second") != (i%2 == 1) {
			t.Fatalf("record %d is %q: the records of one Append were torn apart", i, r)
		}
		if ok && fmt.Sprint(next[who]) != n {
			t.Fatalf("appender %s: record %s comes where %d should", who, n, next[who])
		}
		next[who]++
	}
	if next["7"] != 20 {
		t.Errorf("appender 7: %d records, want 20", next["7"])
	}
}

func TestTornTailIsTruncatedAtEveryByte(t *testing.T) {
	whole := t.TempDir()
	want := lines(6)
	o := wal.DefaultOptions()
	write(t, o, whole, want...)
	data, err := os.ReadFile(segments(t, whole)[0])
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(segments(t, whole)[0])
	for n := 28; n < len(data); n++ { // a segment never has a partial header
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got := mustRead(t, o, dir)
		if len(got) >= len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("cut at %d: %q", n, got)
		}
		write(t, o, dir, "after")
		if again := mustRead(t, o, dir); !slices.Equal(again, append(got, "after")) {
			t.Fatalf("cut at %d, then appended: %q", n, again)
		}
	}
}

func TestDamageIsReportedAtEveryByte(t *testing.T) {
	whole := t.TempDir()
	want := lines(6)
	o := wal.DefaultOptions()
	write(t, o, whole, want...)
	name := segments(t, whole)[0]
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(string(data), want[5]) - 9 // begin of the last frame
	for n := range data {
		dir := t.TempDir()
		bad := slices.Clone(data)
		bad[n] ^= 0x40
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := read(t, o, dir)
		corrupt, ok := errors.AsType[*wal.CorruptError](err)
		switch {
		case n >= last && (err != nil || !slices.Equal(got, want[:5])):
			t.Fatalf("byte %d of the last frame: %q, %v; want it cut off", n, got, err)
		case n < last && !ok:
			t.Fatalf("byte %d: %q, %v; want a CorruptError", n, got, err)
		case n < last && int(corrupt.Offset) > n:
			t.Fatalf("byte %d: reported as damage at byte %d", n, corrupt.Offset)
		}
	}
}

func TestDamageInOlderSegment(t *testing.T) {
	dir := t.TempDir()
	write(t, small, dir, lines(40)...)
	first := segments(t, dir)[0]
	if err := os.Truncate(first, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, small, dir); err == nil || !strings.Contains(err.Error(), filepath.Base(first)) {
		t.Errorf("Open = %v, want an error that names %s", err, first)
	}
	if err := os.Remove(segments(t, dir)[2]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, small, dir); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("Open = %v, want the missing segment in it", err)
	}
}

func TestRecordThatLooksLikeLog(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	o := wal.DefaultOptions()
	write(t, o, whole, lines(3)...)
	data, err := os.ReadFile(segments(t, whole)[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, o, dir, "first", string(data))
	name := segments(t, dir)[0]
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	// After a power cut the seal is missing.
	if err := errors.Join(os.Truncate(name, info.Size()-1), os.Remove(filepath.Join(dir, "closed"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first"}, mustRead(t, o, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplayReturnsCallbackError(t *testing.T) {
	dir := t.TempDir()
	write(t, small, dir, "good", "bad")
	no := errors.New("not mine")
	_, err := small.Open(dir, func(r []byte) error {
		if string(r) == "bad" {
			return no
		}
		return nil
	})
	if !errors.Is(err, no) {
		t.Errorf("Open = %v, want %v", err, no)
	}
	mustRead(t, small, dir) // the failed Open has released the folder
}

func TestSecondProgramIsRejected(t *testing.T) {
	dir := t.TempDir()
	open(t, small, dir)
	if _, err := read(t, small, dir); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("Open = %v, want that another program uses the log", err)
	}
}
