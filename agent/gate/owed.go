package gate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/drivers"
)

// errSlowDisk is that nobody knows whether something is written down.
var errSlowDisk = fmt.Errorf("the disk does not answer within %v", diskTime)

// owe writes down when a device that is about to be switched on is to be switched
// off, or that it may stay on. What was written for the same act with its intent is not
// written again. A disk that hangs is not waited for.
func (g *Gate) owe(ctx context.Context, d *device, o *off) error {
	g.mu.Lock()
	was, due := g.due[d.name]
	if g.book == nil || !due && len(g.unwritten) == 0 && o.at.IsZero() {
		g.mu.Unlock()
		return nil
	}
	if early := o.at.Sub(was.At); due && g.unwritten[d.name] == 0 && !o.at.IsZero() && early >= 0 && early <= Fresh {
		g.mu.Unlock()
		return nil // by so much sooner the next run would switch it off
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
		ring(g.settled) // Run tries again
	}
	return err
}

// notes are what is due and not on the disk. mu is held.
func (g *Gate) notes() []journal.Note {
	var notes []journal.Note
	for _, name := range slices.Sorted(maps.Keys(g.unwritten)) {
		notes = append(notes, g.dueNote(name))
	}
	return notes
}

// unlessLate calls f, which writes to a disk, and waits for it for diskTime at most.
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

// paid notes that nothing is to be switched off any more. Run writes it down. mu is
// held.
func (g *Gate) paid(d *device) {
	if _, was := g.due[d.name]; was {
		g.owes(d.name, nil)
		ring(g.settled)
	}
}

// runDues writes down what became of what was due, beside the timers: a disk that hangs
// keeps nothing on.
func (g *Gate) runDues(ctx context.Context) {
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

// unlessItHangs calls f and waits for it, but not for a disk that hangs.
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

// owesAs has what is due of a device be as it was before it was to be switched on, and
// was not. mu is held.
func (g *Gate) owesAs(d *device) {
	if g.book == nil {
		return
	}
	if g.paid(d); d.off != nil && !d.off.stops && !d.off.at.IsZero() {
		due := d.off.due(g.now())
		g.owes(d.name, &due)
		ring(g.settled)
	}
}

// due is when something is to be switched off, as it is written down.
func (o *off) due(now time.Time) Due {
	d := Due{At: o.at, On: o.on, Within: o.at.Sub(now)}
	if o.was {
		d.On = now
	}
	return d
}

// keepPaid writes down what has become of what was to be switched off, and reports
// whether that is so.
func (g *Gate) keepPaid() (ok bool) {
	g.mu.Lock()
	notes := g.notes()
	g.mu.Unlock()
	if err := g.write(context.Background(), notes); err != nil {
		g.log.Error("what was switched off, or is to stay on, is not written down; a restart would switch it off", "err", err)
		return false
	}
	return true
}

// owed is when a device that is being started goes off, by what an earlier run has
// left and by its longest time on; nil if it may stay as it is. mu is held.
func (g *Gate) owed(d *device, s drivers.Switch) *off {
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
