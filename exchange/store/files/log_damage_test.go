package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// flipBit replaces bytes of the log at their nth occurrence.
func flipBit(t *testing.T, dir, was, is string, nth int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "log", "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		at := -1
		for ; nth >= 0; nth-- {
			next := bytes.Index(data[at+1:], []byte(was))
			if next < 0 {
				break
			}
			at += 1 + next
		}
		if nth < 0 {
			_, err = f.WriteAt([]byte(is), int64(at))
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if nth < 0 {
			return
		}
	}
	t.Fatalf("%q is not in the log", was)
}

// logged opens a store, and returns it with its log output.
func logged(t *testing.T, dir string) (*files.Store, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	cfg := files.DefaultConfig()
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	s, err := cfg.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, &log
}

// content returns the content of threads, without the fields that only protect their steps.
func content(all []thread.Thread) map[string]string {
	m := map[string]string{}
	for _, th := range all {
		m[th.Ref] = fmt.Sprint(th.Status, " ", th.Executor, " ", len(th.History), " ", len(th.Messages))
	}
	return m
}

// filled makes a folder with three threads, and returns their content. The second one has
// started.
func filled(t *testing.T) (dir string, want []thread.Thread) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	fill(t, s, "a", 0, 0)
	fill(t, s, "b", 3, 20)
	fill(t, s, "c", 1, 20)
	want = all(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// One flipped bit in the log loses no data, and the store logs it.
func TestFlippedBitLosesNothing(t *testing.T) {
	for n := range 4 {
		dir, want := filled(t)
		flipBit(t, dir, "02-01-002", "02-01-003", n)
		s, log := logged(t, dir)
		if diff := cmp.Diff(want, all(t, s)); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(log.String(), "one bit of the exchange's log had flipped") {
			t.Errorf("log is %s, want the flipped bit", log)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The store rebuilds a thread with damaged records from its folder and leaves the others
// unchanged. It logs that once.
func TestDamagedThreadIsRebuilt(t *testing.T) {
	for n := range 8 { // in its first record, and in later ones
		dir, want := filled(t)
		flipBit(t, dir, "02-01-002", "?????????", n)
		s, log := logged(t, dir)
		if diff := cmp.Diff(content(want), content(all(t, s))); diff != "" {
			t.Errorf("%d: %s\n%s", n, diff, log)
		}
		if !strings.Contains(log.String(), "damage in the exchange's log") {
			t.Errorf("%d: the damage is not in the log", n)
		}
		if ref, err := s.Lookup(t.Context(), thread.Key{Owner: "agent", Name: "b"}); err != nil || ref != "2026-02-01-002-b" {
			t.Errorf("%d: %s, %v", n, ref, err)
		}
		fill(t, s, "d", 1, 0)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if copies, err := filepath.Glob(filepath.Join(dir, "log", "*.damaged")); err != nil || len(copies) != 1 {
			t.Errorf("%d: copies of what was damaged: %v, %v", n, copies, err)
		}
		s, log = logged(t, dir)
		if log.Len() > 0 || len(all(t, s)) != 4 {
			t.Errorf("%d: the next time: %s", n, log)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A program that dies may have stored steps that no folder shows. If such a step is damaged, its
// thread may have started: the store does not offer it again, and ends it with an unknown
// outcome.
func TestDamagedLastStepEndsAsUnknown(t *testing.T) {
	dir, want := filled(t)
	if err := errors.Join(os.Remove(filepath.Join(dir, "log", "closed")), os.RemoveAll(filepath.Join(dir, "state=executing"))); err != nil {
		t.Fatal(err)
	}
	flipBit(t, dir, `{"step":{"ref":"2026-02-01-002`, "??????????", 0)
	flipBit(t, dir, `{"step":{"ref":"2026-02-01-002`, "??????????", 0)
	flipBit(t, dir, `{"step":{"ref":"2026-02-01-002`, "??????????", 0)
	s, _ := logged(t, dir)
	defer s.Close()
	for _, th := range all(t, s) {
		last := th.Messages[len(th.Messages)-1]
		st, _ := last.Items[0].(*mess.Status)
		switch {
		case th.ClientID == "c":
			if th.Status != mess.InProgress || len(th.Messages) != 2 {
				t.Errorf("c, which has changed since: %s, %d messages", th.Status, len(th.Messages))
			}
		case st == nil || th.Status != mess.Failed || st.Reason.Effect != mess.EffectUnknown:
			t.Errorf("%s: %s, %v", th.Ref, th.Status, last)
		}
	}
	if got := all(t, s); len(got) != len(want) {
		t.Errorf("%d threads, want %d", len(got), len(want))
	}
}

// An unreadable record during a compaction affects its thread only, and the compaction shortens
// the log.
func TestCompactionContinuesAfterDamage(t *testing.T) {
	dir := t.TempDir()
	s, log := logged(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx, noListener{}) }()
	ref := fill(t, s, "broken", 2, 300<<10)
	whole := fill(t, s, "whole", 0, 0)
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	flipBit(t, dir, strings.Repeat("x", 200), "???", 0)
	for i := range 26 {
		fill(t, s, fmt.Sprint("large", i), 1, 650<<10)
	}
	first := filepath.Join(dir, "log", "0000000000000001.wal")
	isGone(t, first)
	for _, ref := range []string{ref, whole} {
		if th, _, err := s.Read(t.Context(), ref); err != nil || th.Status.Terminal() || len(th.Messages) == 0 {
			t.Errorf("%s: %s, %d messages, %v", ref, th.Status, len(th.Messages), err)
		}
	}
	stop()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "cannot be made shorter") || !strings.Contains(log.String(), "cannot read a record of a thread") {
		t.Errorf("log is %s", log)
	}
	if copies, err := filepath.Glob(filepath.Join(dir, "set-aside", "*.record")); err != nil || len(copies) != 1 {
		t.Errorf("copies of what was damaged: %v, %v", copies, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// isGone waits until a file no longer exists.
func isGone(t *testing.T, name string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			return
		}
		<-tick.C
	}
	t.Fatalf("%s is still there", name)
}

type noListener struct{}

func (noListener) PostExternal(context.Context, string, mess.Message) error { return nil }
