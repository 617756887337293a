// Package device holds the devices of an executor: it starts and halts them, reads their states
// under the safety policy, and reports states and failures to the exchange. It knows neither
// threads nor plans beyond the command of a device.
package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// Device describes a device to the agent.
type Device struct {
	Name   string // unique; plans contain it
	Label  string // the name for people; "" means Name
	Area   string // where it is; "" if that is unknown
	Class  string // light, plug, camera, ...; "" for none
	Hidden bool   // pages leave it out of their first view
	SeenBy string // the camera that captures an image after an act, on request; "" for none
	Done   Done   // how the power shows the end of its activity, if it does not report it
	Driver drivers.Device
	// Placeholders are the images that a camera sends without a real image.
	Placeholders []picture.Sketch

	opened *Handle // set by Start; else nil
}

// Handle is a device with its run-time state. It does not change: a new description makes another
// Handle with the same state.
type Handle struct {
	Device
	*handleState
}

// handleState is the run-time state of a device.
type handleState struct {
	opening *semaphore.Weighted // one at a time starts it

	mu      sync.Mutex // guards what follows; no goroutine holds it while the driver works
	started uint64     // the policy's Rounds at its start, plus one; a later stop has halted it
	failed  error      // error of its last start
	failure Failure
}

func newHandle(d Device) *Handle {
	return &Handle{Device: d, handleState: &handleState{opening: semaphore.NewWeighted(1)}}
}

// Failure is the last failure of a device until it works again. The zero value means none.
type Failure struct {
	At     time.Time `json:"at"`
	Reason string    `json:"why"`
}

// deviceFaults lists the kinds of a result (from the task) that concern the device, and not a
// cancel or a policy rule.
var deviceFaults = map[string]bool{"device": true, "timeout": true, "needs_person": true, "not_started": true}

// Used records the result of a use of the device.
func (d *Handle) Used(at time.Time, kind string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.failure = Failure{}
	case deviceFaults[kind]:
		d.failure = Failure{at, err.Error()}
	}
}

// LastFailure returns its last failure, or that the policy cannot switch it off.
func (d *Handle) LastFailure(g *policy.Policy) Failure {
	if since, err := g.Overdue(d.Name); err != nil {
		return Failure{since, err.Error()}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// Open starts a device that is not started. One that fails is tried again when
// it is next needed: it may have been plugged in meanwhile. While another task starts the
// device, open waits for it until ctx ends.
func (d *Handle) Open(ctx context.Context, g *policy.Policy) error {
	if err := d.opening.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("cannot start %s: another task starts it: %w", d.Name, err)
	}
	defer d.opening.Release(1)
	now := g.StopCount() + 1
	if d.IsRunning(g) {
		return nil
	}
	err := g.Start(ctx, d.Driver, d.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed = err; err != nil {
		return fmt.Errorf("cannot start %s: %w", d.Name, err)
	}
	d.started = now
	return nil
}

// IsRunning reports whether a device has started and no stop has halted it since.
func (d *Handle) IsRunning(g *policy.Policy) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.started == g.StopCount()+1
}

// notStarted returns why the device is not started.
func (d *Handle) notStarted() error {
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

// Done describes how a device's power shows the end of its activity.
type Done struct {
	Below float64       `yaml:"below"` // W; below this power it does not work
	For   time.Duration `yaml:"for"`   // duration of low power: a washing machine also pauses
}

// DefaultDone returns settings for a device with a display and no cycling heater.
func DefaultDone() Done { return Done{Below: 5, For: 2 * time.Minute} }

// Filled returns the settings with the defaults for zero values.
func (d Done) Filled() Done {
	return Done{Below: cmp.Or(d.Below, DefaultDone().Below), For: cmp.Or(d.For, DefaultDone().For)}
}

// Validate returns an error for each invalid setting. Zero means the default.
func (d Done) Validate() error {
	var errs []error
	if !(d.Below >= 0 && d.Below <= 1e5) { // also rejects NaN
		errs = append(errs, fmt.Errorf("below: %v W cannot be; write 0 to 100000", d.Below))
	}
	if d.For < 0 || d.For > time.Hour {
		errs = append(errs, fmt.Errorf("for: %v is not between 0 and 1h", d.For))
	}
	return errors.Join(errs...)
}
