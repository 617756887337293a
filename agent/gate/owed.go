package gate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Due is when a device that is on has to be switched off.
type Due struct {
	At     time.Time     `json:"at"`
	On     time.Time     `json:"on"`     // since when it is on
	Within time.Duration `json:"within"` // until At, when it was written down; in ns
}

// Dues remember over a restart what is still to be switched off.
type Dues interface {
	// Dues are those that were kept last, by device.
	Dues() (map[string]Due, error)
	// Keep writes down all. They are on the disk when it returns nil.
	Keep(map[string]Due) error
}

// Owe has what is to be switched off be written down from now on, and takes over what
// an earlier run has left on for a time. That is switched off when its device is
// started and the time is over. Where a clock that was put back or is not set hides
// how long that is, it is as long as it was when it was written down. names are the
// devices that there are; of another that is still due nobody can see to it.
func (g *Gate) Owe(kept Dues, names []string) {
	due, err := kept.Dues()
	if err != nil {
		g.log.Error("what was to be switched off cannot be read; look at what may be on", "err", err)
	}
	_, unset := g.wall()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept, g.due = kept, map[string]Due{}
	for name, d := range due {
		if !slices.Contains(names, name) {
			g.log.Error("it was to be switched off, and is not in the configuration any more; look whether it is on", "device", name, "until", d.At.Format(time.RFC3339))
			g.stale = true
			continue
		}
		left := d.At.Sub(g.now())
		if unset != nil || left > d.Within {
			left = d.Within
		}
		at := g.now().Add(max(0, left))
		g.due[name] = Due{At: at, On: at.Add(-max(0, d.At.Sub(d.On))), Within: d.Within}
	}
}

// errSlowDisk is that nobody knows whether something is written down.
var errSlowDisk = fmt.Errorf("the disk does not answer within %v", diskTime)

// owe writes down when a device that is about to be switched on is to be switched
// off, or that it may stay on. A disk that hangs is not waited for.
func (g *Gate) owe(ctx context.Context, d *device, o *off) error {
	g.mu.Lock()
	_, was := g.due[d.name]
	if g.kept == nil || !was && !g.stale && o.at.IsZero() {
		g.mu.Unlock()
		return nil
	}
	if delete(g.due, d.name); !o.at.IsZero() {
		g.due[d.name] = o.due(g.now())
	}
	g.mu.Unlock()
	written := make(chan error, 1)
	go func() { written <- g.keepDues() }()
	late := time.NewTimer(diskTime)
	defer late.Stop()
	err := errSlowDisk
	select {
	case err = <-written:
	case <-late.C:
	case <-ctx.Done():
	}
	if err != nil {
		ring(g.settled) // Run tries again
	}
	return err
}

// paid notes that nothing is to be switched off any more. Run writes it down. mu is
// held.
func (g *Gate) paid(d *device) {
	if _, was := g.due[d.name]; was {
		delete(g.due, d.name)
		g.isStale()
	}
}

// isStale has Run write down what is due. mu is held.
func (g *Gate) isStale() {
	g.stale = true
	ring(g.settled)
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
	if g.kept == nil {
		return
	}
	if g.paid(d); d.off != nil && !d.off.stops && !d.off.at.IsZero() {
		g.due[d.name] = d.off.due(g.now())
		g.isStale()
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
	stale := g.stale
	g.mu.Unlock()
	if !stale {
		return true
	}
	if err := g.keepDues(); err != nil {
		g.log.Error("what was switched off, or is to stay on, is not written down; a restart would switch it off", "err", err)
		return false
	}
	return true
}

func (g *Gate) keepDues() error {
	g.keeping <- struct{}{} // what is written last is how it is
	defer func() { <-g.keeping }()
	g.mu.Lock()
	due := maps.Clone(g.due)
	g.stale = false
	g.mu.Unlock()
	for name, d := range due {
		d.At, d.On = d.At.Round(0), d.On.Round(0) // a disk keeps no monotonic time
		due[name] = d
	}
	err := g.kept.Keep(due)
	if err != nil {
		g.mu.Lock()
		g.stale = true
		g.mu.Unlock()
	}
	return err
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
