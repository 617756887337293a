package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Stop cancels all running acts, makes Run take every device to its safe state without regard
// to queues, and rejects every new plan and every act until ResetStop. Another Stop repeats this. Stop does not wait.
// It is not a safety function: that needs a switch in the wire.
func (g *Policy) Stop(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if reason == "" {
		reason = "stopped"
	}
	if g.stopReason == "" {
		g.stopReason = reason // the first reason stays
		g.log.Warn("stopped", "err", reason)
	}
	g.stopCount++
	for _, cancel := range g.runningCalls {
		cancel(g.stopRejection())
	}
	for _, d := range g.devices {
		d.safeResult = nil
		d.requestSafe()
	}
	g.notifyChanged()
}

// ResetStop resets a stop. Only the local operator may do this, never a network client.
func (g *Policy) ResetStop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopReason == "" {
		return
	}
	g.stopReason = ""
	g.log.Warn("stop reset")
	g.notifyChanged()
}

// Stopped returns the reason for the stop, "" if there is none.
func (g *Policy) Stopped() string {
	reason, _ := g.Watch()
	return reason
}

// Watch returns the reason for the stop, "" if there is none. The policy closes changed when the
// reason or the result of SafeResults changes.
func (g *Policy) Watch() (reason string, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopReason, g.changed
}

// StopRejection returns the rejection that applies to everything during a stop; nil if there is no
// stop.
func (g *Policy) StopRejection() *Rejection {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopReason == "" {
		return nil
	}
	return g.stopRejection()
}

// StopCount returns the number of stops. Each stop halts the devices that started before it.
func (g *Policy) StopCount() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopCount
}

func (g *Policy) stopRejection() *Rejection {
	return &Rejection{Rule: "stop", Text: fmt.Sprintf("a stop is active (%s); to reset it, run on the host: messkit clear", g.stopReason)}
}

// notStopped rejects every plan during a stop, also one that only reads. A pass from before the
// stop may still read.
func (g *Policy) notStopped(*device, capabilities.Plan) error {
	if g.stopReason != "" {
		return g.stopRejection()
	}
	return nil
}

// register registers a device for conditions of others and for stops. During a stop it returns a
// rejection.
func (g *Policy) register(d drivers.Device, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	dev := g.device(name)
	dev.driver = d
	g.notifyChanged()
	return g.notStopped(dev, capabilities.Plan{})
}

// returnedLate requests the safe state again if a call from before the stop returns after it:
// its last effect is unknown. The caller holds Policy.mu.
func (g *Policy) returnedLate(c *call) {
	if c.acts && g.stopReason != "" {
		c.dev.requestSafe()
	}
}

// notifyChanged wakes the callers of Watch. The caller holds Policy.mu.
func (g *Policy) notifyChanged() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// requestSafe wakes the goroutine that keeps the device safe, now or at its start.
func (d *device) requestSafe() { wait.Notify(d.safeAgain) }

// SafeResult is the result of taking one device to its safe state.
type SafeResult struct {
	Device   string
	State    SafeState
	Evidence mess.Evidence // evidence for it; "" until the device is safe
	Took     time.Duration // from the call to the driver until the result
	Err      string        // why it is not safe, or why the evidence is no better
}

// SafeState is the progress of a device to its safe state.
type SafeState string

// Values of SafeState.
const (
	StatePending SafeState = "pending" // its driver has not answered yet
	StateSafe    SafeState = "safe"
	StateUnsafe  SafeState = "unsafe" // the policy tries again while the stop lasts
)

// SafeResults returns the result of the last stop for every device, sorted by name; nothing before
// the first stop.
func (g *Policy) SafeResults() []SafeResult {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []SafeResult
	for _, d := range g.devices {
		switch {
		case g.stopCount == 0 || d.driver == nil:
		case d.safeResult == nil:
			list = append(list, SafeResult{Device: d.name, State: StatePending})
		default:
			list = append(list, *d.safeResult)
		}
	}
	order.By(list, func(a, b SafeResult) int { return strings.Compare(a.Device, b.Device) })
	return list
}

// runStops takes every device to its safe state during a stop, each in its own goroutine, and
// keeps it there until ResetStop or the end of ctx.
func (g *Policy) runStops(ctx context.Context) error {
	var keepers errgroup.Group
	kept := map[*device]bool{}
	round, end := context.WithCancel(ctx)
	for ctx.Err() == nil {
		reason, changed := g.Watch()
		if reason == "" && len(kept) > 0 {
			end() // without a wait: a driver that does not answer must not delay the next stop
			clear(kept)
			round, end = context.WithCancel(ctx)
		}
		for _, d := range g.stoppedDevices() {
			if !kept[d] {
				kept[d] = true
				keepers.Go(func() error { g.keepDeviceSafe(round, d); return nil })
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	end()
	return keepers.Wait()
}

// stoppedDevices returns the devices that must be kept safe now.
func (g *Policy) stoppedDevices() []*device {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []*device
	for _, d := range g.devices {
		if g.stopReason != "" && d.driver != nil {
			list = append(list, d)
		}
	}
	return list
}

// keepDeviceSafe takes one device to its safe state. It repeats that after a failure, after a late call,
// after another stop, and if the device starts late from an earlier command.
func (g *Policy) keepDeviceSafe(ctx context.Context, d *device) {
	select {
	case <-d.safeAgain: // this call answers that signal
	default:
	}
	wait := firstRetry
	for look := false; ctx.Err() == nil; {
		var retry <-chan time.Time
		if look && g.staysSafe(ctx, d) || g.haltDevice(ctx, d) {
			wait = firstRetry
			if look = g.mayActLate(d); look {
				retry = time.After(firstRetry)
			}
		} else {
			look = false
			retry = time.After(wait)
			wait = min(lastRetry, 2*wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.safeAgain:
			look = false
		case <-retry:
		}
	}
}

// mayActLate reports whether a device may still carry out a recent command: many answer first
// and act later.
func (g *Policy) mayActLate(d *device) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, reads := d.driver.(drivers.SafeReader)
	return reads && !d.lastAct.IsZero() && g.now().Sub(d.lastAct) < maxReportDelay
}

// staysSafe reports whether a safe device still reports no other state.
func (g *Policy) staysSafe(ctx context.Context, d *device) bool {
	g.mu.Lock()
	driver := d.driver
	g.mu.Unlock()
	return g.checkSafe(ctx, d, driver, nil).State == StateSafe
}

// switchOffTimeout is how long the halt waits for switching off.
const switchOffTimeout = 50 * time.Millisecond

// haltDevice halts a device without regard to queues or running tasks and checks the result.
// It first switches off a device that is on for a time, because its safe state may be keep. It
// reports a driver that does not answer within StopWithin, and waits for it.
func (g *Policy) haltDevice(ctx context.Context, d *device) bool {
	began := g.now()
	g.switchOffFirst(ctx, d)
	g.mu.Lock()
	driver := d.driver
	g.mu.Unlock()
	c := &call{dev: d, name: "halt"}
	halted := make(chan error, 1)
	go func() { // it outlives haltDevice if the driver hangs
		_, err := recoverPanic(ctx, c, func(context.Context) (struct{}, error) { return struct{}{}, driver.Halt() })
		g.returned(c)
		halted <- err
	}()
	late := time.NewTimer(d.limits.StopWithin)
	defer late.Stop()
	for {
		select {
		case err := <-halted:
			s := g.checkSafe(ctx, d, driver, err)
			if ctx.Err() != nil {
				return false // the stop is over, and another one may have begun
			}
			s.Device, s.Took = d.name, g.now().Sub(began)
			g.storeSafeResult(d, s)
			return s.State == StateSafe
		case <-late.C:
			if g.quarantine(c) {
				g.storeSafeResult(d, SafeResult{Device: d.name, State: StateUnsafe, Took: g.now().Sub(began), Err: fmt.Sprintf("its driver has not answered within %v; switch it off by hand", d.limits.StopWithin)})
			}
		case <-ctx.Done():
			return false
		}
	}
}

// switchOffFirst switches off a device that is on for a time.
func (g *Policy) switchOffFirst(ctx context.Context, d *device) {
	g.mu.Lock()
	o := d.pending
	g.mu.Unlock()
	if o == nil || o.at.IsZero() {
		return
	}
	done := make(chan struct{})
	go func() { // it outlives switchOffFirst if the driver hangs
		defer close(done)
		c := &call{dev: d, name: "switch off", limit: switchOffTimeout, lock: d.actLock}
		if _, err := run(ctx, g, c, func(ctx context.Context) (struct{}, error) { return struct{}{}, o.output.Switch(ctx, false) }); err == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.confirmOff(d, o)
		}
	}()
	late := time.NewTimer(switchOffTimeout)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// keptByConfig explains a device that a stop leaves unchanged, because the configuration says so.
const keptByConfig = "unchanged, because it has safe: keep; its activity continues"

// checkSafe reads whether a halted device is safe, if it can report that.
func (g *Policy) checkSafe(ctx context.Context, d *device, driver drivers.Device, err error) SafeResult {
	if err != nil {
		return SafeResult{State: StateUnsafe, Err: err.Error()}
	}
	if safeLevel(driver) == "keep" {
		return SafeResult{State: StateSafe, Err: keptByConfig}
	}
	r, ok := driver.(drivers.SafeReader)
	if !ok {
		return SafeResult{State: StateSafe, Evidence: mess.Acknowledged}
	}
	c := &call{dev: d, name: "read whether it is safe", limit: d.limits.StopWithin, lock: make(chan struct{}, 1)}
	switch safe, err := run(ctx, g, c, r.Safe); {
	case err != nil:
		return SafeResult{State: StateSafe, Evidence: mess.Acknowledged, Err: "messkit could not read its state back: " + err.Error()}
	case !safe:
		return SafeResult{State: StateUnsafe, Err: "messkit halted it, but it reports that it is not safe; switch it off by hand"}
	}
	return SafeResult{State: StateSafe, Evidence: mess.ReadBack}
}

// storeSafeResult stores the result of a stop for the report and logs it.
func (g *Policy) storeSafeResult(d *device, s SafeResult) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.safeResult, d.level = &s, levelUnknown // its safe state may be on
	g.notifyChanged()
	if s.State == StateSafe {
		d.mayBeActive = false
		if d.pending != nil && s.Evidence == mess.ReadBack && safeLevel(d.driver) == "off" {
			d.pending.reportedOff = true
		}
		g.log.Info("safe", "device", d.name, "evidence", s.Evidence, "took", s.Took)
		return
	}
	g.log.Error("not safe", "device", d.name, "took", s.Took, "err", s.Err)
}

// Quarantined returns the unfinished call of each device with a hanging driver. Such a device is in
// quarantine: the policy makes no other call until it returns.
func (g *Policy) Quarantined() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	hung := map[string]string{}
	for _, d := range g.devices {
		for c := range d.hungCalls {
			hung[d.name] = c.name
		}
	}
	return hung
}
