package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// stopRecord is the state of the stop latch in a test with power cuts.
type stopRecord struct {
	holds    bool        // the current disk contains the latch
	sent     bool        // a stop command ran since the last cut
	ordered  bool        // and succeeded before the cut, so the disk contains it
	answered atomic.Bool // succeeded so far
	end      context.CancelFunc
	group    errgroup.Group

	orders, kept int // number of stop commands, and of those on the disk after the cut
}

// startStopCommand runs a local stop command, and does not wait for it.
func (h *cutHarness) startStopCommand() {
	s := &h.stops
	ctx, end := context.WithCancel(h.Context())
	s.sent, s.end = true, end
	s.answered.Store(false)
	s.orders++
	c := exec.CommandContext(ctx, h.binary, "stop", "--data", h.dataDir(), "--why", "the power fails")
	s.group.Go(func() error {
		out, err := c.Output()
		s.answered.Store(err == nil || len(out) > 0 && ctx.Err() == nil) // the latch also holds if a device is not safe yet
		return nil
	})
}

func (h *cutHarness) dataDir() string { return filepath.Join(h.Live, "data") }

// checkLatch checks the disk after a cut: it has every confirmed stop, and no stop without an
// order.
func (h *cutHarness) checkLatch() {
	h.Helper()
	s := &h.stops
	if s.end != nil {
		s.end()
		_ = s.group.Wait() // the cut has ended it, too
	}
	_, err := os.Stat(filepath.Join(h.dataDir(), "stop", "latched.json"))
	latched := !errors.Is(err, os.ErrNotExist)
	switch {
	case (s.ordered || s.holds) && !h.showsStop():
		h.Errorf("cut %d: a stop was answered, and is lost", h.cuts)
	case latched && !s.sent && !s.holds:
		h.Errorf("cut %d: it is stopped without an order: a clear is lost", h.cuts)
	}
	if latched && s.sent {
		s.kept++
	}
	s.holds, s.sent, s.ordered, s.end = latched, false, false, nil
	s.answered.Store(false)
}

// showsStop reports whether messkit shows a stop.
func (h *cutHarness) showsStop() bool {
	h.Helper()
	out, err := exec.Command(h.binary, "stop", "--show", "--json", "--data", h.dataDir()).Output()
	var got struct{ Stopped []any }
	if err := errors.Join(err, json.Unmarshal(out, &got)); err != nil {
		h.Fatalf("stop --show: %v\n%s", err, out)
	}
	return len(got.Stopped) > 0
}

// whileStopped is the time in which no valve may move during a stop.
const whileStopped = 50 * time.Millisecond

// checkStaysStopped checks that no valve moves in a program that starts with a latch, and resets the
// stop.
func (h *cutHarness) checkStaysStopped() {
	h.Helper()
	before := h.logSizes()
	<-time.After(whileStopped)
	if !slices.Equal(before, h.logSizes()) {
		h.Errorf("cut %d: a valve was switched while everything was stopped", h.cuts)
	}
	h.resetStop()
}

// resetStop resets a stop, with or without a running program.
func (h *cutHarness) resetStop() {
	h.Helper()
	if !h.stops.holds {
		return
	}
	if out, err := exec.Command(h.binary, "clear", "--anyway", "--data", h.dataDir()).CombinedOutput(); err != nil {
		h.Errorf("clear: %v\n%s", err, out)
	}
	h.stops.holds = false
}
