package broker

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The end of a link waits for running calls up to the limit, and not for calls on a dead
// connection.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w works
		hangs := make(chan struct{})
		var ended atomic.Bool
		w.start(func() { <-hangs })
		w.start(func() { time.Sleep(closeTimeout / 2); ended.Store(true) }) // fake time
		begun := time.Now()
		w.wait()
		if took := time.Since(begun); took != closeTimeout || !ended.Load() {
			t.Errorf("waited for %v; what was under way has ended: %v", took, ended.Load())
		}
		if w.start(func() { t.Error("begun after the end") }) {
			t.Error("start succeeds after the end")
		}
		close(hangs)
	})
	synctest.Test(t, func(t *testing.T) {
		var w works
		w.start(func() { time.Sleep(closeTimeout / 4) })
		begun := time.Now()
		w.wait()
		if took := time.Since(begun); took != closeTimeout/4 {
			t.Errorf("waited for %v", took)
		}
	})
}
