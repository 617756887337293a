package watchdog_test

import (
	"bufio"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/watchdog"
)

// The watchdog counts the time that the machine has slept as time on.
func TestSuspendCountsAsTimeOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		in, to := io.Pipe()
		from, out := io.Pipe()
		a := &agent{t: t, w: w, watchdog: watchdog.New(w.execute, slog.New(slog.DiscardHandler)), to: to, pipe: from, from: bufio.NewScanner(from), end: make(chan error, 1)}
		var slept atomic.Int64
		a.watchdog.UseSuspendTime(func() time.Duration { return time.Duration(slept.Load()) })
		go func() { a.end <- a.watchdog.Run(in, out); _ = out.Close() }()
		a.send(watchdog.Message{Devices: []watchdog.Device{lamp("porch", "keep"), lamp("hall", "keep")}})
		a.on("porch", 1, time.Hour)
		a.on("hall", 2, 3*time.Hour)
		a.sendBeats(time.Second)
		slept.Store(int64(2 * time.Hour))
		wait(time.Second) // no agent has connected yet
		if got := w.history(); !strings.HasPrefix(got, "porch off 1") {
			t.Errorf("after the sleep: %q, want the porch off at once", got)
		}
		a.sendBeats(time.Hour)
		if got := w.history(); !strings.Contains(got, "hall off 1h0m0") {
			t.Errorf("later: %q, want the hall off in its time", got)
		}
		a.stop()
	})
}
