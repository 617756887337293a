package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

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
