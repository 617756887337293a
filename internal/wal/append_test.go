package wal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/wal"
)

func TestFull(t *testing.T) {
	dir := t.TempDir()
	o := wal.Options{SegmentBytes: 256, MaxBytes: 600}
	l := open(t, o, dir)
	var err error
	n := 0
	for ; err == nil; n++ {
		err = l.Append(t.Context(), []byte("0123456789"))
	}
	if !errors.Is(err, wal.ErrFull) || l.Size() > 600 {
		t.Fatalf("after %d bytes: %v, want ErrFull at 600", l.Size(), err)
	}
	if err := l.Compact(t.Context(), slices.Values([][]byte{[]byte("sum")})); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), []byte("more")); err != nil {
		t.Errorf("Append after Compact: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sum", "more"}, mustRead(t, o, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSizeAndFreeSpace(t *testing.T) {
	dir := t.TempDir()
	l := open(t, small, dir)
	check := func(when string, size, room int64) {
		t.Helper()
		if l.Size() != size || l.Room() != room {
			t.Errorf("%s: size %d, room %d; want %d, %d", when, l.Size(), l.Room(), size, room)
		}
	}
	check("new", 28, 228)
	record := make([]byte, 91) // 100 with its length and its frame
	for range 2 {
		if err := l.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	check("after two", 228, 28)
	if err := l.Append(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	check("in a new segment", 356, 128)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, small, dir)
	check("opened again", 356, 128)
	if err := l.Compact(t.Context(), slices.Values([][]byte{record})); err != nil {
		t.Fatal(err)
	}
	check("compacted", 128, 128)
}

func TestTooLarge(t *testing.T) {
	l := open(t, small, t.TempDir())
	if err := l.Append(t.Context(), make([]byte, wal.MaxRecord+1)); err == nil {
		t.Error("a record above the limit was taken")
	}
	half := make([]byte, wal.MaxRecord/2+100)
	if err := l.Append(t.Context(), half, half); err == nil {
		t.Error("records above the limit together were taken")
	}
	if err := l.Append(t.Context(), make([]byte, wal.MaxRecord)); err != nil {
		t.Errorf("a record of the largest size: %v", err)
	}
}

func TestCancelledAppendLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	l := open(t, small, dir)
	ctx, cancel := context.WithCancel(t.Context())
	block, blocked := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // holds the turn until the test releases it
		err := l.Compact(t.Context(), func(yield func([]byte) bool) {
			close(blocked)
			<-block
			yield([]byte("kept"))
		})
		if err != nil {
			t.Errorf("Compact: %v", err)
		}
	})
	<-blocked
	cancel()
	if err := l.Append(ctx, []byte("never")); !errors.Is(err, context.Canceled) {
		t.Errorf("Append = %v, want %v", err, context.Canceled)
	}
	close(block)
	wg.Wait()
	if err := l.Append(t.Context(), []byte("next")); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kept", "next"}, mustRead(t, small, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClosed(t *testing.T) {
	l := open(t, small, t.TempDir())
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if err := l.Append(t.Context(), []byte("x")); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("Append = %v, want ErrClosed", err)
	}
}

// Append returns an error after the removal of the log's file.
func TestAppendAfterRemovalFails(t *testing.T) {
	for name, take := range map[string]func(dir string) error{
		"its folder is removed": os.RemoveAll,
		"its folder is moved":   func(dir string) error { return errors.Join(os.RemoveAll(dir+"-old"), os.Rename(dir, dir+"-old")) },
		"its file is replaced": func(dir string) error {
			name := filepath.Join(dir, "0000000000000001.wal")
			data, err := os.ReadFile(name)
			return errors.Join(err, os.Remove(name), os.WriteFile(name, data, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			l, err := wal.Open(dir, func([]byte) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(l.Append(t.Context(), []byte("a")), l.Check(t.Context()), take(dir)); err != nil {
				t.Fatal(err)
			}
			if err := l.Append(t.Context(), []byte("b")); err == nil || !strings.Contains(err.Error(), "no longer exists, or is another file now") {
				t.Errorf("Append: %v", err)
			}
			if l.Err() == nil || l.Check(t.Context()) == nil {
				t.Error("the log is whole")
			}
			_ = l.Close()
			l, err = wal.Open(dir, func([]byte) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if err := take(dir); err != nil {
				t.Fatal(err)
			}
			if l.Check(t.Context()) == nil {
				t.Error("Check succeeds after the loss of the file, want an error")
			}
			_ = l.Close()
		})
	}
}
