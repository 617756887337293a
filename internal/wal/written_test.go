package wal_test

import (
	"slices"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/wal"
)

// Written counts the bytes of the day, including compaction.
func TestWritten(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC)
	o := wal.DefaultOptions()
	o.Now = func() time.Time { return now }
	l := open(t, o, t.TempDir())
	written := func(wantTotal, wantToday int64) {
		t.Helper()
		if total, today := l.Written(); total != wantTotal || today != wantToday {
			t.Errorf("%v: %d and %d today, want %d and %d", now, total, today, wantTotal, wantToday)
		}
	}
	const header, frame = 28, 8 + 1 + 100 // a length and 100 bytes in a frame
	written(header, header)
	record := make([]byte, 100)
	if err := l.Append(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	written(header+frame, header+frame)
	now = now.Add(2 * time.Hour)
	written(header+frame, 0)
	if err := l.Append(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	written(header+2*frame, frame)
	if err := l.Compact(t.Context(), slices.Values([][]byte{record})); err != nil {
		t.Fatal(err)
	}
	written(2*header+3*frame, header+2*frame)
}
