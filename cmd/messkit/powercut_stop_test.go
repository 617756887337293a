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

// stops are the stops of a house whose power is cut.
type stops struct {
	holds    bool        // it is latched on the disk that there is now
	sent     bool        // an order was given since the last cut
	ordered  bool        // and answered before the cut: it is on the disk
	answered atomic.Bool // by now
	end      context.CancelFunc
	group    errgroup.Group

	orders, kept int // how many were given, and were on the disk after the cut
}

// orderStop orders a stop at the place, and does not wait for it.
func (h *house) orderStop() {
	s := &h.stops
	ctx, end := context.WithCancel(h.Context())
	s.sent, s.end = true, end
	s.answered.Store(false)
	s.orders++
	c := exec.CommandContext(ctx, h.binary, "stop", "--data", h.data(), "--why", "the power fails")
	s.group.Go(func() error {
		out, err := c.Output()
		s.answered.Store(err == nil || len(out) > 0 && ctx.Err() == nil) // what is not safe yet is latched all the same
		return nil
	})
}

func (h *house) data() string { return filepath.Join(h.live, "data") }

// checkLatch looks on the disk after a cut whether a stop is there that was
// answered, and none that was not ordered.
func (h *house) checkLatch() {
	h.Helper()
	s := &h.stops
	if s.end != nil {
		s.end()
		_ = s.group.Wait() // its power was cut as well
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

// stopShown reports whether messkit says that it is stopped.
func (h *house) stopShown() bool {
	h.Helper()
	out, err := exec.Command(h.binary, "stop", "--show", "--json", "--data", h.data()).Output()
	var said struct{ Stopped []any }
	if err := errors.Join(err, json.Unmarshal(out, &said)); err != nil {
		h.Fatalf("stop --show: %v\n%s", err, out)
	}
	return len(said.Stopped) > 0
}

// whileStopped is how long nothing may move while it is stopped.
const whileStopped = 50 * time.Millisecond

// staysStopped looks whether anything moves in a program that was started with a
// latch, and clears it.
func (h *house) staysStopped() {
	h.Helper()
	before := h.sizes()
	<-time.After(whileStopped)
	if !slices.Equal(before, h.sizes()) {
		h.Errorf("cut %d: a valve was switched while everything was stopped", h.cuts)
	}
	h.clear()
}

// clear ends a stop, whether or not the program runs.
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
