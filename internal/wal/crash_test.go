package wal_test

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/wal"
)

// An interrupted Compact leaves the old records or the new ones.
func TestCrashInCompact(t *testing.T) {
	old, compacted := t.TempDir(), t.TempDir()
	for _, dir := range []string{old, compacted} {
		write(t, small, dir, lines(30)...)
	}
	l := open(t, small, compacted)
	if err := l.Compact(t.Context(), slices.Values([][]byte{[]byte("a"), []byte("b")})); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := segments(t, compacted); len(got) != 1 {
		t.Fatalf("segments after Compact: %v, want one", got)
	}
	base := segments(t, compacted)[0]
	data, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("before the rename", func(t *testing.T) {
		for n := range len(data) {
			tmp := filepath.Join(old, filepath.Base(base)+".tmp")
			if err := os.WriteFile(tmp, data[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(lines(30), mustRead(t, small, old)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
	t.Run("before the old ones are gone", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(old, filepath.Base(base)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", "b"}, mustRead(t, small, old)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := segments(t, old); len(got) != 1 {
			t.Errorf("segments: %v, want one", got)
		}
	})
}

// Records that callers append during Repack follow the new ones. A crash at any moment leaves the
// old records or the new ones before them.
func TestCrashInRepack(t *testing.T) {
	dir := t.TempDir()
	write(t, small, dir, lines(30)...)
	l := open(t, small, dir)
	had, appended := lines(30), []string(nil)
	// crash appends a record, and compares the records in a copy of the folder, as after a crash.
	crash := func(when string) {
		t.Helper()
		one := fmt.Sprint(when, len(appended))
		if err := l.Append(t.Context(), []byte(one)); err != nil {
			t.Fatal(err)
		}
		appended = append(appended, one)
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Concat(had, appended), mustRead(t, small, copied)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", when, diff)
		}
	}
	for range 2 {
		was := had
		had, appended = slices.Concat(had, appended), nil
		fresh := []string{"a", strings.Repeat("b", 300<<10), "c"} // more than one frame
		records := func() iter.Seq[[]byte] {
			return func(yield func([]byte) bool) {
				for _, r := range fresh {
					for range 30 { // more than one segment
						crash("meanwhile")
					}
					if !yield([]byte(r)) {
						return
					}
				}
				crash("at the end")
			}
		}
		if err := l.Repack(t.Context(), records, func([]wal.Place) { had = fresh; crash("renamed") }); err != nil {
			t.Fatal(err)
		}
		crash("after")
		if len(was) == 0 {
			t.Fatal("nothing was replaced")
		}
	}
	size := l.Size()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Concat(had, appended), mustRead(t, small, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l = open(t, small, dir); l.Size() != size {
		t.Errorf("opened again it has %d bytes, and had %d", l.Size(), size)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzOpen opens a log of any bytes. A second Open must return the same records, and the log must
// accept more.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	o := wal.DefaultOptions()
	l, err := o.Open(dir, func([]byte) error { return nil })
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range lines(3) {
		if err := l.Append(f.Context(), []byte(r)); err != nil {
			f.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	name := "0000000000000001.wal"
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{data, data[:len(data)-1], data[:28], data[:5], nil, append(slices.Clone(data), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := read(t, o, dir)
		if err != nil {
			return
		}
		write(t, o, dir, "more")
		if got := mustRead(t, o, dir); !slices.Equal(got, append(first, "more")) {
			t.Errorf("first %q, then %q", first, got)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l, err := wal.Open(b.TempDir(), func([]byte) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	record := make([]byte, 1024)
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := l.Append(b.Context(), record); err != nil {
				b.Error(err)
			}
		}
	})
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}
