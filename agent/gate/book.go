package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/order"
)

// Act is one time that a device was made to act.
type Act = journal.Act

// Due says when a device that is on has to be switched off.
type Due = journal.Due

// Book keeps over a restart what must not be forgotten: acts, and what is to be switched
// off.
type Book interface {
	// Book returns what was written before.
	Book() (journal.Book, error)
	// Note writes notes, all of them or none. They are on the disk when it returns nil.
	Note(ctx context.Context, notes ...journal.Note) error
}

// Keep makes the gate write to a book from now on, and takes over what an earlier run has
// written there. As long as the gate cannot read that, it refuses each act that counts.
// names are the devices of the configuration.
func (g *Gate) Keep(b Book, names []string) {
	g.mu.Lock()
	g.book, g.unread = b, true
	g.mu.Unlock()
	kept, err := b.Book()
	if err != nil {
		g.log.Error("the acts and the times at which devices go off cannot be read; look at what may be on", "err", err)
		return
	}
	g.recallActs(kept)
	g.recallDues(kept, names)
}

// recall takes over what an earlier run has done, once.
func (g *Gate) recall() error {
	g.mu.Lock()
	book, unread := g.book, g.unread
	g.mu.Unlock()
	if !unread {
		return nil
	}
	kept, err := book.Book()
	if err != nil {
		return err
	}
	g.recallActs(kept)
	return nil
}

// recallActs takes over acts. Where a clock that was set meanwhile, or is not set yet,
// hides how long ago one was, it counts as done just now.
func (g *Gate) recallActs(kept journal.Book) {
	_, unset := g.wall()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.unread {
		return // another was quicker
	}
	g.unread, g.serial = false, g.serial+kept.Serial()
	now := g.now()
	here := func(at time.Time) time.Time {
		if unset != nil {
			return now
		}
		return now.Add(-max(0, now.Sub(at)))
	}
	for i, a := range kept.Acts {
		kept.Acts[i].At = here(a.At)
	}
	order.By(kept.Acts, func(a, b Act) int { return a.At.Compare(b.At) })
	for _, a := range kept.Acts {
		d := g.device(a.Device)
		g.spend(d, a)
		if d.used.Before(a.At) {
			d.used = a.At // it rests from then on
		}
	}
	if !kept.Gap.IsZero() {
		g.gap = here(kept.Gap)
	}
}

// recallDues takes over what an earlier run has left on for a time. The gate switches a device
// off when it has started the device and the time is over. If the clock was put back or is
// not set, the time begins anew. The gate cannot switch off a device that the configuration
// does not have any more.
func (g *Gate) recallDues(kept journal.Book, names []string) {
	_, unset := g.wall()
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, o := range kept.Dues {
		d := o.Due
		if d == nil {
			continue
		}
		if !slices.Contains(names, name) {
			g.log.Error("it was to be switched off, and is not in the configuration any more; look whether it is on", "device", name, "until", d.At.Format(time.RFC3339))
			g.owes(name, nil)
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

// Begin writes the notes that the next act of the pass needs: that it counts, and when the
// device goes off again. write gets the notes, so that they share a sync with what the caller
// has to write. They are on the disk when it returns nil.
func (p *Pass) Begin(ctx context.Context, write func(context.Context, ...journal.Note) error) error {
	act, err := p.counted()
	if err != nil {
		return err
	}
	notes := act
	if due, ok := p.foresee(); ok {
		notes = append(slices.Clip(act), due)
	}
	if err := write(ctx, notes...); err != nil {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		p.unforesee()
		return err
	}
	p.g.wrote(notes)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.begun = true
	return nil
}

// begin does what Begin does where the caller has not called it. It writes nothing for an act
// that does not count.
func (p *Pass) begin(ctx context.Context) error {
	p.g.mu.Lock()
	begun := p.begun
	p.begun = false
	p.g.mu.Unlock()
	if begun {
		return nil
	}
	act, err := p.counted()
	if err != nil || len(act) == 0 {
		return err
	}
	notes := act
	if due, ok := p.foresee(); ok {
		notes = append(slices.Clip(act), due)
	}
	err = unlessLate(ctx, func() error { return p.g.write(ctx, notes) })
	if err != nil {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		p.unforesee()
		return p.notWritten(err)
	}
	return nil
}

// notWritten refuses an act that is not written down.
func (p *Pass) notWritten(err error) error {
	return &Refusal{Device: p.dev.name, Rule: "max_acts", Text: fmt.Sprintf("it could not be written down that it acts (%v); look at the disk", err)}
}

// foresee notes in memory when the device goes off that the pass is going to switch on, and
// returns the note for the disk. ok is false if the device may stay on.
func (p *Pass) foresee() (n journal.Note, ok bool) {
	g := p.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.book == nil || offIn(*p.dev.limits, p.order.Plan) == 0 {
		return n, false
	}
	now := g.now()
	on, due, _ := p.goesOff(now)
	p.foreseen = true
	n = g.owes(p.dev.name, &Due{At: due, On: on, Within: due.Sub(now)})
	delete(g.unwritten, p.dev.name) // the caller writes it, or unforesee takes it back
	return n, true
}

// unforesee takes back what foresee has noted, if the pass has switched nothing on. mu is
// held.
func (p *Pass) unforesee() {
	if p.foreseen {
		p.foreseen = false
		p.g.owesAs(p.dev)
	}
}

// owes notes in memory what is due of a device, and returns the note for the disk. mu is
// held.
func (g *Gate) owes(name string, due *Due) journal.Note {
	if delete(g.due, name); due != nil {
		g.due[name] = *due
	}
	g.serial++
	g.unwritten[name] = g.serial
	return g.dueNote(name)
}

// dueNote is what is due of a device, for the disk. mu is held.
func (g *Gate) dueNote(name string) journal.Note {
	n := journal.Note{Device: name, Serial: g.unwritten[name]}
	if d, is := g.due[name]; is {
		d.At, d.On = d.At.Round(0), d.On.Round(0) // a disk keeps no monotonic time
		n.Due = &d
	}
	return n
}

// write writes notes down.
func (g *Gate) write(ctx context.Context, notes []journal.Note) error {
	if len(notes) == 0 {
		return nil
	}
	err := g.book.Note(ctx, notes...)
	if err == nil {
		g.wrote(notes)
	}
	return err
}

// wrote notes what is on the disk.
func (g *Gate) wrote(notes []journal.Note) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range notes {
		if n.Act == nil && g.unwritten[n.Device] == n.Serial {
			delete(g.unwritten, n.Device)
		}
	}
}
