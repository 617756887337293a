package wal_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/wal"
)

// openDamaged returns options that open a damaged log, and collect the damage in found.
func openDamaged(o wal.Options, found *[]wal.Damage) wal.Options {
	o.Damaged = func(d wal.Damage) error { *found = append(*found, d); return nil }
	return o
}

// change changes the bytes of a file.
func change(t *testing.T, name string, how func(data []byte)) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		how(data)
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Any single flipped bit loses nothing, and Open reports it once.
func TestFlippedBitIsCorrected(t *testing.T) {
	whole := t.TempDir()
	want := lines(6)
	write(t, wal.DefaultOptions(), whole, want...)
	name := filepath.Base(segments(t, whole)[0])
	data, err := os.ReadFile(filepath.Join(whole, name))
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		change(t, filepath.Join(dir, name), func(data []byte) { data[n] ^= 1 << (n % 8) })
		var found []wal.Damage
		got := mustRead(t, openDamaged(wal.DefaultOptions(), &found), dir)
		if len(found) == 1 && (strings.Contains(found[0].Error(), "backup") || !strings.Contains(found[0].Error(), "had flipped; messkit turned it back, the log lost nothing")) {
			t.Errorf("message about the flipped bit is %v", found[0])
		}
		if !slices.Equal(got, want) || len(found) != 1 || !found[0].Repaired || filepath.Base(found[0].File) != name {
			t.Fatalf("byte %d: %q, %v", n, got, found)
		}
		if got := mustRead(t, wal.DefaultOptions(), dir); !slices.Equal(got, want) {
			t.Fatalf("byte %d: %q when it was opened again", n, got)
		}
	}
}

// Open copies an irreparable frame and omits its records. It replays all others, and the log
// accepts more.
func TestDamagedFrameIsSkipped(t *testing.T) {
	for n, gone := range []int{0, 3, 5} {
		dir := t.TempDir()
		want := lines(6)
		write(t, wal.DefaultOptions(), dir, want...)
		change(t, segments(t, dir)[0], func(data []byte) {
			at := strings.Index(string(data), want[gone])
			copy(data[at:], "???")
		})
		if _, err := read(t, wal.DefaultOptions(), dir); err == nil {
			t.Error("without Damaged it was opened")
		}
		var found []wal.Damage
		write(t, openDamaged(wal.DefaultOptions(), &found), dir, "after")
		if len(found) == 1 && (strings.Contains(found[0].Error(), "backup") || !strings.Contains(found[0].Error(), found[0].Copy)) {
			t.Errorf("message about the damage is %v", found[0])
		}
		if len(found) != 1 || found[0].Repaired || !strings.Contains(string(found[0].Lost), want[gone][3:]) {
			t.Fatalf("%d: %+v", n, found)
		}
		if copied, err := os.ReadFile(found[0].Copy); err != nil || !strings.Contains(string(copied), want[gone][3:]) {
			t.Errorf("%d: the copy: %q, %v", n, copied, err)
		}
		rest := append(slices.Delete(slices.Clone(want), gone, gone+1), "after")
		if diff := cmp.Diff(rest, mustRead(t, openDamaged(wal.DefaultOptions(), &found), dir)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
	}
}

// Open renames a segment with an irreparable header.
func TestSegmentWithoutHeaderIsRenamed(t *testing.T) {
	dir := t.TempDir()
	want := lines(40)
	write(t, small, dir, want...)
	all := segments(t, dir)
	for _, name := range []string{all[1], all[len(all)-1]} {
		change(t, name, func(data []byte) { clear(data[:20]) })
	}
	var found []wal.Damage
	got := mustRead(t, openDamaged(small, &found), dir)
	if len(found) != 2 || len(got) < len(want)/2 || len(got) >= len(want) {
		t.Fatalf("%d records, %v", len(got), found)
	}
	for _, d := range found {
		if _, err := os.Stat(d.Copy); err != nil {
			t.Error(err)
		}
	}
	write(t, small, dir, lines(10)...)
	if diff := cmp.Diff(append(got, lines(10)...), mustRead(t, small, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// After a graceful shutdown no frame can be torn, so an incomplete one is damage.
func TestDamagedLastFrameAfterClose(t *testing.T) {
	want := lines(6)
	for name, damage := range map[string]func(file string, at int64) error{
		"changed": func(file string, at int64) error {
			change(t, file, func(data []byte) { data[at+2]++ })
			return nil
		},
		"zeros": func(file string, at int64) error {
			change(t, file, func(data []byte) { clear(data[at-9:]) })
			return nil
		},
		"cut in it":     func(file string, at int64) error { return os.Truncate(file, at+2) },
		"cut before it": func(file string, at int64) error { return os.Truncate(file, at-9) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, wal.DefaultOptions(), dir, want...)
			file := segments(t, dir)[0]
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(file, int64(strings.LastIndex(string(data), want[5]))); err != nil {
				t.Fatal(err)
			}
			_, err = read(t, wal.DefaultOptions(), dir)
			if c, ok := errors.AsType[*wal.CorruptError](err); !ok || c.Rule != wal.RuleClosed {
				t.Errorf("Open = %v, want a CorruptError of the rule %s", err, wal.RuleClosed)
			}
			if _, err := wal.Read(dir, func(wal.Record) error { return nil }); err == nil {
				t.Error("Read of a damaged log succeeds, want an error")
			}
			var found []wal.Damage
			if got := mustRead(t, openDamaged(wal.DefaultOptions(), &found), dir); len(found) != 1 || name != "changed" && !slices.Equal(got, want[:5]) {
				t.Errorf("%q, %v", got, found)
			}
			if _, err := read(t, wal.DefaultOptions(), dir); err != nil { // Open has repaired the log and does not report it again
				t.Error(err)
			}
		})
	}
}

// FuzzDamaged opens a log with any changed bytes. A second Open returns the same records, and the
// log accepts more.
func FuzzDamaged(f *testing.F) {
	f.Add(30, []byte{1}, false)
	f.Add(0, []byte("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), true)
	f.Add(60, []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), true)
	f.Fuzz(func(t *testing.T, at int, with []byte, _ bool) {
		dir := t.TempDir()
		write(t, small, dir, lines(20)...)
		all := segments(t, dir)
		change(t, all[max(0, at)%len(all)], func(data []byte) {
			copy(data[max(0, at)%len(data):], with)
		})
		var found []wal.Damage
		first, err := read(t, openDamaged(small, &found), dir)
		if err != nil {
			if c, ok := errors.AsType[*wal.CorruptError](err); ok && (c.Rule == wal.RuleFlags || c.Rule == wal.RuleSequence || c.Rule == wal.RuleRecords) {
				return // it is intact, and another program has written it
			}
			t.Fatal(err)
		}
		write(t, openDamaged(small, &found), dir, "more")
		if got := mustRead(t, openDamaged(small, &found), dir); !slices.Equal(got, append(first, "more")) {
			t.Errorf("first %q, then %q", first, got)
		}
	})
}
