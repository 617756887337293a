package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

// pendingOff is the pending switch-off of a device.
type pendingOff struct {
	at           time.Time // zero: never
	onSince      time.Time // start of the current period on, as far as known
	reportedOff  bool      // it has reported off since then
	output       drivers.Switch
	retryDelay   time.Duration // delay before the next try, after a failed one
	lastErr      error         // error of the last failed try
	failingSince time.Time     // time of the first failed try
	timed        bool          // the plan named that time and no longer one
	deviceTimer  time.Time     // when its own timer switches it off; zero: no timer, or not set
	// isStop marks a device that must stand still, or go to a safe level of on, and has not
	// confirmed it.
	isStop bool
}

// First and longest delay between two tries to switch off.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

func (g *Policy) setOff(d *device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.confirmOff(d, d.pending)
}

// confirmOff records that a device is off. It returns false if another command has replaced o. The
// caller holds Policy.mu.
func (g *Policy) confirmOff(d *device, o *pendingOff) bool {
	if d.pending != o {
		return false
	}
	d.pending, d.level = nil, levelOff
	g.clearPendingOff(d)
	g.storeStates(d, d.actCount, true, drivers.Reading{Quantity: "on"})
	d.markInactive()
	g.updateWatchdog(d)
	g.notifyTimers()
	return true
}

// maxReportDelay is how long a device may still report off after a command to switch on.
const maxReportDelay = 10 * time.Second

// noteReport records that a device reports whether it is on. After a report of off, max_on counts
// anew; the policy still sends the pending switch-off, because the device may carry out an
// earlier command late. The caller holds Policy.mu.
func (d *device) noteReport(on bool, now time.Time) {
	if d.pending != nil && !d.pending.isStop && len(d.actLock) == 0 && (on || now.Sub(d.lastAct) > maxReportDelay) {
		d.pending.reportedOff = !on
	}
}

// isOn reports whether a device is on, as far as known. The caller holds Policy.mu.
func (d *device) isOn() bool { return d.pending != nil && !d.pending.reportedOff }

// Run switches devices off when their time is over, and keeps all devices safe during a stop,
// until ctx ends. Devices that are still on then get Halt from the agent.
func (g *Policy) Run(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error { return g.runTimers(ctx) })
	both.Go(func() error { return g.runStops(ctx) })
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		g.runLedgerWriter(ctx)
	}()
	err := both.Wait()
	wait.ForSignal(context.WithoutCancel(ctx), diskTime, noted)
	return err
}

// runTimers switches each device off in its own goroutine, so that a hanging one does not delay
// others.
func (g *Policy) runTimers(ctx context.Context) error {
	var offs errgroup.Group
	defer func() { _ = offs.Wait() }() // they return nil
	for {
		d, o, in := g.next()
		if d == nil {
			select {
			case <-ctx.Done():
				return nil
			case <-g.timersChanged:
			}
			continue
		}
		t := time.NewTimer(min(in, suspendCheckInterval))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-g.timersChanged:
		case <-t.C:
			if in > suspendCheckInterval {
				break
			}
			g.setSwitchingOff(d, true)
			offs.Go(func() error {
				defer g.setSwitchingOff(d, false)
				g.switchOff(ctx, d, o)
				return nil
			})
		}
		t.Stop()
	}
}

// setSwitchingOff records whether the policy is switching a device off.
func (g *Policy) setSwitchingOff(d *device, now bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.switchingOff = now
	g.notifyTimers()
}

// next returns the device with the earliest pending switch-off, and the time until then.
func (g *Policy) next() (d *device, o *pendingOff, in time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.applySuspend()
	for _, c := range g.devices {
		if c.pending != nil && !c.switchingOff && !c.pending.at.IsZero() && (d == nil || c.pending.at.Before(o.at)) {
			d, o = c, c.pending
		}
	}
	if d == nil {
		return nil, nil, 0
	}
	return d, o, max(0, o.at.Sub(g.now()))
}

// switchOff switches a device off and schedules another try if that fails.
func (g *Policy) switchOff(ctx context.Context, d *device, o *pendingOff) {
	_, err := run(ctx, g, &call{dev: d, name: "switch off", limit: d.limits.Timeout, lock: d.actLock}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.output.Switch(ctx, false)
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.isStop && (err == nil || errors.Is(err, drivers.ErrNotStarted)) && d.pending == o { // it stands still, or a stop handles it
		d.pending = nil
		d.mayBeActive = d.mayBeActive && err != nil
		g.log.Info("no further command to stop", "device", d.name, "err", err)
		return
	}
	if err == nil && g.confirmOff(d, o) {
		d.lastAct = g.now()
		g.log.Info("switched off after its time", "device", d.name)
		return
	}
	if d.pending != o || ctx.Err() != nil {
		return // another command has replaced it, or the program ends
	}
	o.retryDelay = min(lastRetry, max(firstRetry, 2*o.retryDelay))
	o.at = g.now().Add(o.retryDelay)
	if o.isStop {
		g.log.Error("repeated the command for the safe state; the device has not confirmed it", "device", d.name, "err", err)
		return
	}
	if o.lastErr == nil {
		o.failingSince = g.now()
	}
	o.lastErr = err
	g.log.Error("cannot switch off after its time", "device", d.name, "err", err)
}

// Overdue returns since when a device is on past its time, and the error of the last try to
// switch it off; a nil error if it is not overdue.
func (g *Policy) Overdue(name string) (since time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.devices[name]
	if d == nil || !d.isOn() || d.pending.lastErr == nil {
		return time.Time{}, nil
	}
	return d.pending.failingSince, fmt.Errorf("it may still be on after its time, because messkit cannot switch it off; messkit tries again, check the device: %w", d.pending.lastErr)
}

// errSlowDisk reports a write whose result is unknown.
var errSlowDisk = fmt.Errorf("the disk does not answer within %v", diskTime)

// writePendingOff writes the pending switch-off of a device that is about to go on, or that it may stay on.
// It does not repeat a note that the intent of the same act has written. It does not wait for a
// hanging disk.
func (g *Policy) writePendingOff(ctx context.Context, d *device, o *pendingOff) error {
	g.mu.Lock()
	was, due := g.pendingOffs[d.name]
	if g.ledger == nil || !due && len(g.unwritten) == 0 && o.at.IsZero() {
		g.mu.Unlock()
		return nil
	}
	if early := o.at.Sub(was.At); due && g.unwritten[d.name] == 0 && !o.at.IsZero() && early >= 0 && early <= FreshFor {
		g.mu.Unlock()
		return nil // the next run would switch it off that much earlier
	}
	if o.at.IsZero() {
		g.setPendingOff(d.name, nil)
	} else {
		due := o.record(g.now())
		g.setPendingOff(d.name, &due)
	}
	notes := g.unwrittenEntries()
	g.mu.Unlock()
	err := withinDiskTime(ctx, func() error { return g.writeEntries(context.WithoutCancel(ctx), notes) })
	if err != nil {
		wait.Notify(g.ledgerChanged) // Run tries again
	}
	return err
}

// unwrittenEntries returns the pending notes that are not on the disk. The caller holds Policy.mu.
func (g *Policy) unwrittenEntries() []journal.LedgerEntry {
	var notes []journal.LedgerEntry
	for _, name := range slices.Sorted(maps.Keys(g.unwritten)) {
		notes = append(notes, g.pendingOffEntry(name))
	}
	return notes
}

// withinDiskTime calls f, which writes to a disk, and waits at most diskTime for it.
func withinDiskTime(ctx context.Context, f func() error) error {
	written := make(chan error, 1)
	go func() { written <- f() }()
	late := time.NewTimer(diskTime)
	defer late.Stop()
	select {
	case err := <-written:
		return err
	case <-late.C:
		return errSlowDisk
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// clearPendingOff removes the pending switch-off of a device. Run writes that to the disk. The caller
// holds Policy.mu.
func (g *Policy) clearPendingOff(d *device) {
	if _, was := g.pendingOffs[d.name]; was {
		g.setPendingOff(d.name, nil)
		wait.Notify(g.ledgerChanged)
	}
}

// runLedgerWriter writes changes of pending switch-offs in its own goroutine, so that a hanging disk
// does not keep a device on.
func (g *Policy) runLedgerWriter(ctx context.Context) {
	for ctx.Err() == nil {
		var again <-chan time.Time
		if !g.writeUnwritten() {
			again = time.After(lastRetry)
		}
		select {
		case <-ctx.Done():
		case <-again:
		case <-g.ledgerChanged:
		}
	}
	g.writeUnwritten()
}

// diskTime is how long an act, and the end of the program, wait for the disk.
const diskTime = 5 * time.Second

// restorePendingOff restores the pending switch-off of a device after a failed act. The caller holds
// Policy.mu.
func (g *Policy) restorePendingOff(d *device) {
	if g.ledger == nil {
		return
	}
	if g.clearPendingOff(d); d.pending != nil && !d.pending.isStop && !d.pending.at.IsZero() {
		due := d.pending.record(g.now())
		g.setPendingOff(d.name, &due)
		wait.Notify(g.ledgerChanged)
	}
}

// record converts a pending switch-off to its record for the disk.
func (o *pendingOff) record(now time.Time) PendingOff {
	d := PendingOff{At: o.at, On: o.onSince, Within: o.at.Sub(now)}
	if o.reportedOff {
		d.On = now
	}
	return d
}

// writeUnwritten writes the unwritten pending switch-offs and reports success.
func (g *Policy) writeUnwritten() (ok bool) {
	g.mu.Lock()
	notes := g.unwrittenEntries()
	g.mu.Unlock()
	if err := g.writeEntries(context.Background(), notes); err != nil {
		g.log.Error("cannot record which switch-offs are no longer pending; a restart would repeat them", "err", err)
		return false
	}
	return true
}

// pendingOffAtStart returns when a device that is starting must go off, from the records of earlier runs and
// its max_on; nil if it may stay as it is. The caller holds Policy.mu.
func (g *Policy) pendingOffAtStart(d *device, s drivers.Switch) *pendingOff {
	now := g.now()
	o := &pendingOff{onSince: now, output: s}
	if limit := d.limits.MaxOn; limit > 0 {
		o.at = now.Add(limit)
	}
	if due, is := g.pendingOffs[d.name]; is {
		o.onSince, o.timed = due.On, true
		if o.at.IsZero() || due.At.Before(o.at) {
			o.at = due.At
		}
	}
	if o.at.IsZero() {
		return nil
	}
	return o
}
