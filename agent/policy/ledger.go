package policy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/order"
)

// Act records one act of a device.
type Act = journal.Act

// PendingOff records when the policy must switch a device off.
type PendingOff = journal.PendingOff

// Ledger stores acts and pending switch-offs across restarts.
type Ledger interface {
	// Ledger returns the stored acts and pending switch-offs.
	Ledger() (journal.Ledger, error)
	// AppendLedger writes all notes or none. They are on the disk when it returns nil.
	AppendLedger(ctx context.Context, notes ...journal.LedgerEntry) error
}

// UseLedger makes the policy write to the ledger b from now on and loads the records of earlier runs
// from it. While the policy cannot read them, it rejects each act that counts. names are the
// devices of the configuration.
func (g *Policy) UseLedger(b Ledger, names []string) {
	g.mu.Lock()
	g.ledger, g.ledgerUnread = b, true
	g.mu.Unlock()
	kept, err := b.Ledger()
	if err != nil {
		g.log.Error("cannot read the ledger of acts and pending switch-offs; check which devices may be on", "err", err)
		return
	}
	g.addActs(kept)
	g.addPendingOffs(kept, names)
}

// loadActs loads the acts of earlier runs, once.
func (g *Policy) loadActs() error {
	g.mu.Lock()
	book, unread := g.ledger, g.ledgerUnread
	g.mu.Unlock()
	if !unread {
		return nil
	}
	kept, err := book.Ledger()
	if err != nil {
		return err
	}
	g.addActs(kept)
	return nil
}

// addActs adds recorded acts to the budgets. If the clock has gone back since an act, or is
// not set yet, the act counts as done now.
func (g *Policy) addActs(kept journal.Ledger) {
	_, unset := g.wallClock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ledgerUnread {
		return // another goroutine has loaded them
	}
	g.ledgerUnread, g.serial = false, g.serial+kept.Serial()
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
		g.charge(d, a)
		if d.lastAct.Before(a.At) {
			d.lastAct = a.At // its minimum interval begins here
		}
	}
	if !kept.Gap.IsZero() {
		g.ledgerGap = here(kept.Gap)
	}
}

// addPendingOffs loads the pending switch-offs of earlier runs. The policy switches such a device off
// after it has started the device and the time is over. If the clock went back or is not set,
// the time begins anew. The policy cannot switch off a device that the configuration no longer
// contains.
func (g *Policy) addPendingOffs(kept journal.Ledger, names []string) {
	_, unset := g.wallClock()
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, o := range kept.PendingOffs {
		d := o.PendingOff
		if d == nil {
			continue
		}
		if !slices.Contains(names, name) {
			g.log.Error("the configuration no longer has a device with a pending switch-off; check whether it is on", "device", name, "until", d.At.Format(time.RFC3339))
			g.setPendingOff(name, nil)
			continue
		}
		left := d.At.Sub(g.now())
		if unset != nil || left > d.Within {
			left = d.Within
		}
		at := g.now().Add(max(0, left))
		g.pendingOffs[name] = PendingOff{At: at, On: at.Add(-max(0, d.At.Sub(d.On))), Within: d.Within}
	}
}

// Record writes the notes that the next act of the pass needs: the act for the budgets, and the
// time at which the device goes off. It passes them to write, so that they share a sync with
// the caller's own records. They are on the disk when Record returns nil.
func (p *Pass) Record(ctx context.Context, write func(context.Context, ...journal.LedgerEntry) error) error {
	act, err := p.chargeBudgets()
	if err != nil {
		return err
	}
	notes := act
	if due, ok := p.planPendingOff(); ok {
		notes = append(slices.Clip(act), due)
	}
	if err := write(ctx, notes...); err != nil {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		p.revertPendingOff()
		return err
	}
	p.g.markWritten(notes)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.recorded = true
	return nil
}

// recordIfNeeded stands in for Record if the caller has not called it. It writes nothing for an act that
// does not count.
func (p *Pass) recordIfNeeded(ctx context.Context) error {
	p.g.mu.Lock()
	begun := p.recorded
	p.recorded = false
	p.g.mu.Unlock()
	if begun {
		return nil
	}
	act, err := p.chargeBudgets()
	if err != nil || len(act) == 0 {
		return err
	}
	notes := act
	if due, ok := p.planPendingOff(); ok {
		notes = append(slices.Clip(act), due)
	}
	err = withinDiskTime(ctx, func() error { return p.g.writeEntries(ctx, notes) })
	if err != nil {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		p.revertPendingOff()
		return p.ledgerRejection(err)
	}
	return nil
}

// ledgerRejection returns the rejection of an act whose record could not be written.
func (p *Pass) ledgerRejection(err error) error {
	return &Rejection{Device: p.dev.name, Rule: "max_acts", Text: fmt.Sprintf("the journal cannot record the act (%v); check the disk", err)}
}

// planPendingOff records in memory when the device goes off that the pass is about to switch on. It
// returns the note for the disk. ok is false if the device may stay on.
func (p *Pass) planPendingOff() (n journal.LedgerEntry, ok bool) {
	g := p.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ledger == nil || offIn(*p.dev.limits, p.order.Plan) == 0 {
		return n, false
	}
	now := g.now()
	on, due, _ := p.offTimes(now)
	p.offPlanned = true
	n = g.setPendingOff(p.dev.name, &PendingOff{At: due, On: on, Within: due.Sub(now)})
	delete(g.unwritten, p.dev.name) // the caller writes it, or revertPendingOff reverts it
	return n, true
}

// revertPendingOff reverts planPendingOff if the pass has switched nothing on. The caller holds Policy.mu.
func (p *Pass) revertPendingOff() {
	if p.offPlanned {
		p.offPlanned = false
		p.g.restorePendingOff(p.dev)
	}
}

// setPendingOff records in memory the pending switch-off of a device, or its removal if due is nil. It
// returns the note for the disk. The caller holds Policy.mu.
func (g *Policy) setPendingOff(name string, due *PendingOff) journal.LedgerEntry {
	if delete(g.pendingOffs, name); due != nil {
		g.pendingOffs[name] = *due
	}
	g.serial++
	g.unwritten[name] = g.serial
	return g.pendingOffEntry(name)
}

// pendingOffEntry returns the note of a device's pending switch-off for the disk. The caller holds
// Policy.mu.
func (g *Policy) pendingOffEntry(name string) journal.LedgerEntry {
	n := journal.LedgerEntry{Device: name, Serial: g.unwritten[name]}
	if d, is := g.pendingOffs[name]; is {
		d.At, d.On = d.At.Round(0), d.On.Round(0) // the disk cannot store monotonic time
		n.PendingOff = &d
	}
	return n
}

// writeEntries writes notes to the ledger.
func (g *Policy) writeEntries(ctx context.Context, notes []journal.LedgerEntry) error {
	if len(notes) == 0 {
		return nil
	}
	err := g.ledger.AppendLedger(ctx, notes...)
	if err == nil {
		g.markWritten(notes)
	}
	return err
}

// markWritten records which notes are on the disk.
func (g *Policy) markWritten(notes []journal.LedgerEntry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range notes {
		if n.Act == nil && g.unwritten[n.Device] == n.Serial {
			delete(g.unwritten, n.Device)
		}
	}
}
