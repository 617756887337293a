package files_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// keepsOn stores steps of one thread without a pause until the test ends.
func (s *sharedFolder) keepsOn(ref string) {
	s.Helper()
	th, _, err := s.store.Read(s.Context(), ref)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			th.Ver++
			th.Serial++
			m := mess.Message{From: "pi", Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.InProgress}}}
			m.Ref = messeaf.MessageRef(ref, th.Serial, m)
			if _, err := s.store.Append(context.WithoutCancel(ctx), thread.Step{After: revOf(th.Ver - 1), Envelope: th.Envelope, Messages: []mess.Message{m}}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
}

// The store writes folders during a lull, or after a limited time without one. It imports
// threads of other programs without such a wait.
func TestFoldersAreWrittenWithoutLull(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	s.keepsOn(fill(t, s.store, "busy", 0, 0))
	ref := fill(t, s.store, "a", 1, 10)
	s.write(foreignThread, "state=received", "2026-02-01-NX8J", "000-2026-02-01-NX8J.messe-af.yaml")
	if e := <-s.changed; e.Ref != "2026-02-01-NX8J" {
		t.Errorf("taken in: %+v", e)
	}
	s.until("the folder is there", func() bool {
		_, err := os.Stat(s.path("state=executing", ref))
		return err == nil
	})
}

// followLimit is the longest time that folders may be behind the log in a test. An idle computer needs
// up to four seconds, and one that is busy with other tests several times that.
const followLimit = 30 * time.Second

// Folders follow the log even at 500 steps a second without a pause and with a busy processor. Lag
// reports how far they are behind.
func TestFoldersFollowUnderLoad(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	var spin atomic.Bool
	spin.Store(true)
	defer spin.Store(false)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for spin.Load() {
			}
		}()
	}
	pace := time.NewTicker(2 * time.Millisecond * 3) // each makes a thread, with three steps
	defer pace.Stop()
	var made sync.WaitGroup
	var behind int
	for i := range 120 {
		<-pace.C
		made.Go(func() { fill(t, s.store, fmt.Sprint("t", i), 2, 10) })
		threads, oldest := s.store.Lag()
		if behind = max(behind, threads); oldest > followLimit {
			t.Fatalf("the folders are %v behind the log", oldest)
		}
	}
	made.Wait()
	ref := fill(t, s.store, "last", 1, 10)
	began := time.Now()
	s.until("the last folder is there", func() bool {
		_, err := os.Stat(s.path("state=executing", ref))
		return err == nil
	})
	if took := time.Since(began); took > followLimit || behind == 0 {
		t.Errorf("the folder of the last thread came after %v; %d threads were behind", took, behind)
	}
	s.until("no thread is behind", func() bool { threads, _ := s.store.Lag(); return threads == 0 })
}
