package wal_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/internal/wal"
)

// tiny has segments of a few records.
var tiny = wal.Options{SegmentBytes: 4096}

func record(n int) []byte { return fmt.Appendf(nil, "record %d %s", n, strings.Repeat("x", n%97)) }

// reads fails the test if a place does not hold its record.
func reads(t *testing.T, l *wal.Log, places []wal.Place) {
	t.Helper()
	for n, p := range places {
		if got, err := l.Record(p); err != nil || string(got) != string(record(n)) {
			t.Fatalf("record %d: %q, %v", n, got, err)
		}
	}
}

// Record reads every appended record from its place, also after another Open. After Compact it
// reads from the new place.
func TestRecordsAreReadByPosition(t *testing.T) {
	dir := t.TempDir()
	l, err := tiny.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	places := make([]wal.Place, 300)
	var wg sync.WaitGroup
	for w := range 3 { // frames of several appends
		wg.Go(func() {
			for n := w * 100; n < w*100+100; n += 2 {
				got, err := l.Put(t.Context(), record(n), record(n+1))
				if err != nil || len(got) != 2 {
					t.Error(got, err)
					return
				}
				copy(places[n:], got)
			}
		})
	}
	wg.Wait()
	reads(t, l, places)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Record(places[0]); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}

	again := map[string]wal.Place{}
	l, err = tiny.OpenPlaces(dir, func(p wal.Place, r []byte) error { again[string(r)] = p; return nil })
	if err != nil {
		t.Fatal(err)
	}
	for n, p := range places {
		if again[string(record(n))] != p {
			t.Fatalf("record %d was at %v, and is at %v", n, p, again[string(record(n))])
		}
	}
	reads(t, l, places)

	var now []wal.Place
	err = l.Repack(t.Context(), func() iter.Seq[[]byte] {
		return func(yield func([]byte) bool) {
			for n := range places {
				if !yield(record(n)) {
					return
				}
			}
		}
	}, func(at []wal.Place) {
		reads(t, l, places)
		now = at
	})
	if err != nil || len(now) != len(places) {
		t.Fatal(len(now), err)
	}
	reads(t, l, now)
	if _, err := l.Record(places[0]); !errors.Is(err, wal.ErrMoved) {
		t.Errorf("an old place: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// Record returns an error for a record that is damaged on the disk.
func TestDamagedRecordIsError(t *testing.T) {
	dir := t.TempDir()
	l, err := wal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	places, err := l.Put(t.Context(), record(1))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "0000000000000001.wal")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[strings.Index(string(data), "record")] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = l.Record(places[0])
	if c, ok := errors.AsType[*wal.CorruptError](err); !ok || c.File != file {
		t.Errorf("%v", err)
	}
}

// A compaction that ends early keeps every place valid.
func TestPositionsSurviveFailedCompaction(t *testing.T) {
	l, err := wal.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	places, err := l.Put(t.Context(), record(0), record(1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = l.Repack(ctx, func() iter.Seq[[]byte] { return slices.Values([][]byte{record(0)}) }, func(now []wal.Place) { t.Errorf("%v", now) })
	if err == nil {
		t.Error("Repack with an ended context succeeds, want an error")
	}
	reads(t, l, places)
}
