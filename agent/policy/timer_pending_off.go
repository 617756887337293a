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

// owe writes the pending switch-off of a device that is about to go on, or that it may stay on.
// It does not repeat a note that the intent of the same act has written. It does not wait for a
// hanging disk.
func (g *Policy) owe(ctx context.Context, d *device, o *off) error {
	g.mu.Lock()
	was, due := g.due[d.name]
	if g.book == nil || !due && len(g.unwritten) == 0 && o.at.IsZero() {
		g.mu.Unlock()
		return nil
	}
	if early := o.at.Sub(was.At); due && g.unwritten[d.name] == 0 && !o.at.IsZero() && early >= 0 && early <= FreshFor {
		g.mu.Unlock()
		return nil // the next run would switch it off that much earlier
	}
	if o.at.IsZero() {
		g.owes(d.name, nil)
	} else {
		due := o.due(g.now())
		g.owes(d.name, &due)
	}
	notes := g.notes()
	g.mu.Unlock()
	err := unlessLate(ctx, func() error { return g.write(context.WithoutCancel(ctx), notes) })
	if err != nil {
		wait.Notify(g.settled) // Run tries again
	}
	return err
}

// notes returns the pending notes that are not on the disk. The caller holds Gate.mu.
func (g *Policy) notes() []journal.LedgerEntry {
	var notes []journal.LedgerEntry
	for _, name := range slices.Sorted(maps.Keys(g.unwritten)) {
		notes = append(notes, g.dueNote(name))
	}
	return notes
}

// unlessLate calls f, which writes to a disk, and waits at most diskTime for it.
func unlessLate(ctx context.Context, f func() error) error {
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

// paid removes the pending switch-off of a device. Run writes that to the disk. The caller
// holds Gate.mu.
func (g *Policy) paid(d *device) {
	if _, was := g.due[d.name]; was {
		g.owes(d.name, nil)
		wait.Notify(g.settled)
	}
}

// runDues writes changes of pending switch-offs in its own goroutine, so that a hanging disk
// does not keep a device on.
func (g *Policy) runDues(ctx context.Context) {
	for ctx.Err() == nil {
		var again <-chan time.Time
		if !g.keepPaid() {
			again = time.After(lastRetry)
		}
		select {
		case <-ctx.Done():
		case <-again:
		case <-g.settled:
		}
	}
	g.keepPaid()
}

// unlessItHangs calls f and waits at most diskTime for it.
func unlessItHangs(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	late := time.NewTimer(diskTime)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// diskTime is how long an act, and the end of the program, wait for the disk.
const diskTime = 5 * time.Second

// owesAs restores the pending switch-off of a device after a failed act. The caller holds
// Gate.mu.
func (g *Policy) owesAs(d *device) {
	if g.book == nil {
		return
	}
	if g.paid(d); d.off != nil && !d.off.stops && !d.off.at.IsZero() {
		due := d.off.due(g.now())
		g.owes(d.name, &due)
		wait.Notify(g.settled)
	}
}

// due converts a pending switch-off to its record for the disk.
func (o *off) due(now time.Time) PendingOff {
	d := PendingOff{At: o.at, On: o.on, Within: o.at.Sub(now)}
	if o.was {
		d.On = now
	}
	return d
}

// keepPaid writes the unwritten pending switch-offs and reports success.
func (g *Policy) keepPaid() (ok bool) {
	g.mu.Lock()
	notes := g.notes()
	g.mu.Unlock()
	if err := g.write(context.Background(), notes); err != nil {
		g.log.Error("what was switched off, or is to stay on, is not written down; a restart would switch it off", "err", err)
		return false
	}
	return true
}

// owed returns when a device that is starting must go off, from the records of earlier runs and
// its max_on; nil if it may stay as it is. The caller holds Gate.mu.
func (g *Policy) owed(d *device, s drivers.Switch) *off {
	now := g.now()
	o := &off{on: now, sw: s}
	if limit := d.limits.MaxOn; limit > 0 {
		o.at = now.Add(limit)
	}
	if due, is := g.due[d.name]; is {
		o.on, o.time = due.On, true
		if o.at.IsZero() || due.At.Before(o.at) {
			o.at = due.At
		}
	}
	if o.at.IsZero() {
		return nil
	}
	return o
}
