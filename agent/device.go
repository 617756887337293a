package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/drivers"
)

// device is a device with its run-time state.
type device struct {
	Device
	opening *semaphore.Weighted // one at a time starts it

	mu      sync.Mutex // guards what follows; nobody holds it while the driver works
	started uint64     // the policy's Rounds at its start, plus one; a later stop has halted it
	failed  error      // error of its last start
	wrong   Failure
}

func newDevice(d Device) *device { return &device{Device: d, opening: semaphore.NewWeighted(1)} }

// Failure is the last failure of a device until it works again. The zero value means none.
type Failure struct {
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// faults lists the kinds of a result (task.blame) that concern the device, and not a cancel or
// a policy rule.
var faults = map[string]bool{"device": true, "timeout": true, "needs_person": true, "not_started": true}

// used records the result of a use of the device.
func (d *device) used(at time.Time, kind string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.wrong = Failure{}
	case faults[kind]:
		d.wrong = Failure{at, err.Error()}
	}
}

// lastly returns its last failure, or that the policy cannot switch it off.
func (d *device) lastly(g *policy.Policy) Failure {
	if since, why := g.Overdue(d.Name); why != nil {
		return Failure{since, why.Error()}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wrong
}

// Start takes devices to their initial state, before an exchange, a network or a journal
// exists, so that none of these can keep an output unsafe. New accepts the returned devices;
// without New, end them with Halt.
func Start(ctx context.Context, g *policy.Policy, devices []Device, log *slog.Logger) []Device {
	list := make([]Device, len(devices))
	opened := make(map[string]*device, len(devices))
	for i, d := range devices {
		opened[d.Name] = newDevice(d)
		list[i] = d
		list[i].opened = opened[d.Name]
	}
	startAll(ctx, g, maps.Values(opened), log)
	return list
}

// Halt takes devices from Start to their safe state.
func Halt(ctx context.Context, g *policy.Policy, devices []Device, log *slog.Logger) error {
	return haltAll(ctx, g, log, func(yield func(*device) bool) {
		for _, d := range devices {
			if !yield(d.opened) {
				return
			}
		}
	})
}

// open starts a device that is not started. One that fails is tried again when
// it is next needed: it may have been plugged in meanwhile. While another task starts the
// device, open waits for it until ctx ends.
func (d *device) open(ctx context.Context, g *policy.Policy) error {
	if err := d.opening.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%s cannot be started: another task starts it: %w", d.Name, err)
	}
	defer d.opening.Release(1)
	now := g.StopCount() + 1
	if d.running(g) {
		return nil
	}
	err := g.Start(ctx, d.Driver, d.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed = err; err != nil {
		return fmt.Errorf("%s cannot be started: %w", d.Name, err)
	}
	d.started = now
	return nil
}

// running reports whether a device has started and no stop has halted it since.
func (d *device) running(g *policy.Policy) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.started == g.StopCount()+1
}

// why returns why the device is not started.
func (d *device) why() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.failed != nil:
		return d.failed
	case d.started == 0:
		return errors.New("its start has not ended yet")
	}
	return errors.New("a stop has halted it")
}

// startsAtOnce limits simultaneous starts. The goroutines of more would take more memory than
// the devices.
const startsAtOnce = 1024

// startAll starts all devices that are not started. Devices of this machine go first, because
// devices in the network may be slow.
func startAll(ctx context.Context, gt *policy.Policy, devices iter.Seq[*device], log *slog.Logger) {
	var g errgroup.Group
	g.SetLimit(startsAtOnce)
	far := func(d *device) int {
		if _, wired := d.Driver.(drivers.Guarded); wired {
			return 0
		}
		return 1
	}
	for _, d := range slices.SortedFunc(devices, func(a, b *device) int { return far(a) - far(b) }) {
		g.Go(func() error {
			if err := d.open(ctx, gt); err != nil && gt.Stopped() == "" {
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
	return fmt.Sprintf("%s could not be taken to its safe state, and may be on or moving; look at it: %v", e.Device, e.Err)
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
func haltAll(ctx context.Context, gt *policy.Policy, log *slog.Logger, devices iter.Seq[*device]) error {
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
