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

// stops is the state of the stop latch in a test with power cuts.
type stops struct {
	holds    bool        // the current disk contains the latch
	sent     bool        // a stop command ran since the last cut
	ordered  bool        // and succeeded before the cut, so the disk contains it
	answered atomic.Bool // succeeded so far
	end      context.CancelFunc
	group    errgroup.Group

	orders, kept int // number of stop commands, and of those on the disk after the cut
}

// orderStop runs a local stop command, and does not wait for it.
func (h *house) orderStop() {
	s := &h.stops
	ctx, end := context.WithCancel(h.Context())
	s.sent, s.end = true, end
	s.answered.Store(false)
	s.orders++
	c := exec.CommandContext(ctx, h.binary, "stop", "--data", h.data(), "--why", "the power fails")
	s.group.Go(func() error {
		out, err := c.Output()
		s.answered.Store(err == nil || len(out) > 0 && ctx.Err() == nil) // the latch also holds if a device is not safe yet
		return nil
	})
}

func (h *house) data() string { return filepath.Join(h.live, "data") }

// checkLatch checks the disk after a cut: it has every confirmed stop, and no stop without an
// order.
func (h *house) checkLatch() {
	h.Helper()
	s := &h.stops
	if s.end != nil {
		s.end()
		_ = s.group.Wait() // the cut has ended it, too
	}
	_, err := os.Stat(filepath.Join(h.data(), "stop", "latched.json"))
	latched := !errors.Is(err, os.ErrNotExist)
	switch {
	case (s.ordered || s.holds) && !h.stopShown():
		h.Errorf("cut %d: a stop was answered, and is lost", h.cuts)
	case latched && !s.sent && !s.holds:
		h.Errorf("cut %d: it is stopped, and nobody has stopped it: a clear is lost", h.cuts)
	}
	if latched && s.sent {
		s.kept++
	}
	s.holds, s.sent, s.ordered, s.end = latched, false, false, nil
	s.answered.Store(false)
}

// stopShown reports whether messkit shows a stop.
func (h *house) stopShown() bool {
	h.Helper()
	out, err := exec.Command(h.binary, "stop", "--show", "--json", "--data", h.data()).Output()
	var said struct{ Stopped []any }
	if err := errors.Join(err, json.Unmarshal(out, &said)); err != nil {
		h.Fatalf("stop --show: %v\n%s", err, out)
	}
	return len(said.Stopped) > 0
}

// whileStopped is the time in which no valve may move during a stop.
const whileStopped = 50 * time.Millisecond

// staysStopped checks that no valve moves in a program that starts with a latch, and resets the
// stop.
func (h *house) staysStopped() {
	h.Helper()
	before := h.sizes()
	<-time.After(whileStopped)
	if !slices.Equal(before, h.sizes()) {
		h.Errorf("cut %d: a valve was switched while everything was stopped", h.cuts)
	}
	h.clear()
}

// clear resets a stop, with or without a running program.
func (h *house) clear() {
	h.Helper()
	if !h.stops.holds {
		return
	}
	if out, err := exec.Command(h.binary, "clear", "--anyway", "--data", h.data()).CombinedOutput(); err != nil {
		h.Errorf("clear: %v\n%s", err, out)
	}
	h.stops.holds = false
}
