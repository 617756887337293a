package device

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/drivers"
)

// Start takes devices to their initial state, before an exchange, a network or a journal
// exists, so that none of these can keep an output unsafe. New accepts the returned devices;
// without New, end them with Halt.
func Start(ctx context.Context, g *policy.Policy, devices []Device, log *slog.Logger) []Device {
	list := make([]Device, len(devices))
	opened := make(map[string]*Handle, len(devices))
	for i, d := range devices {
		opened[d.Name] = newHandle(d)
		list[i] = d
		list[i].opened = opened[d.Name]
	}
	startAll(ctx, g, maps.Values(opened), log)
	return list
}

// Halt takes devices from Start to their safe state.
func Halt(ctx context.Context, g *policy.Policy, devices []Device, log *slog.Logger) error {
	return haltAll(ctx, g, log, func(yield func(*Handle) bool) {
		for _, d := range devices {
			if !yield(d.opened) {
				return
			}
		}
	})
}

// maxStarts limits simultaneous starts. The goroutines of more would take more memory than
// the devices.
const maxStarts = 1024

// startAll starts all devices that are not started. Devices of this machine go first, because
// devices in the network may be slow.
func startAll(ctx context.Context, gt *policy.Policy, devices iter.Seq[*Handle], log *slog.Logger) {
	var g errgroup.Group
	g.SetLimit(maxStarts)
	far := func(d *Handle) int {
		if _, wired := d.Driver.(drivers.WatchdogTarget); wired {
			return 0
		}
		return 1
	}
	for _, d := range slices.SortedFunc(devices, func(a, b *Handle) int { return far(a) - far(b) }) {
		g.Go(func() error {
			if err := d.Open(ctx, gt); err != nil && gt.Stopped() == "" {
				log.Warn("device not started", "device", d.Name, "err", err)
			}
			return nil
		})
	}
	_ = g.Wait() // each start has logged its error
}

// HaltError reports a device that may be active and did not reach its safe state.
type HaltError struct {
	Device string
	Err    error
}

func (e *HaltError) Error() string {
	return fmt.Sprintf("the agent could not take %s to its safe state, and it may be on or moving; look at it: %v", e.Device, e.Err)
}

func (e *HaltError) Unwrap() error { return e.Err }

// Unsafe returns the names of the devices of every HaltError in err.
func Unsafe(err error) []string {
	if h, ok := err.(*HaltError); ok {
		return []string{h.Device}
	}
	var names []string
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			names = append(names, Unsafe(one)...)
		}
	case interface{ Unwrap() error }:
		names = Unsafe(e.Unwrap())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// haltAll takes every device to its safe state, including those whose start failed. It only
// logs the failure of an unused or inactive device: switching off or unplugging such a device
// is not dangerous.
func haltAll(ctx context.Context, gt *policy.Policy, log *slog.Logger, devices iter.Seq[*Handle]) error {
	var g errgroup.Group
	var mu sync.Mutex
	var errs []error
	for d := range devices {
		g.Go(func() error {
			if err := gt.Halt(ctx, d.Driver, d.Name); err != nil {
				if !gt.MayBeActive(d.Name) {
					log.Warn("not reached at the end; it was not in use", "device", d.Name, "err", err)
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, &HaltError{d.Name, err})
			}
			return nil
		})
	}
	_ = g.Wait() // errs holds them
	return errors.Join(errs...)
}
