package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/internal/wal"
)

// Act records one act of a device.
type Act struct {
	Device string    `json:"device"`
	By     string    `json:"by,omitempty"` // the requester
	At     time.Time `json:"at"`
}

// PendingOff records when a device that is on must go off.
type PendingOff struct {
	At     time.Time     `json:"at"`
	On     time.Time     `json:"on"`     // start of the period on
	Within time.Duration `json:"within"` // time until At when the note was written; in ns
}

// LedgerEntry is one entry of the ledger: an act, or the pending switch-off of a device.
type LedgerEntry struct {
	Act        *Act
	Device     string      // the device of Due
	PendingOff *PendingOff // nil: no switch-off is pending
	Serial     uint64      // grows with each note on a switch-off; an older note changes nothing
}

// Ledger holds the data that the safety policy needs after a restart: recent acts and pending
// switch-offs. A ledger in the journal replaces all earlier notes.
type Ledger struct {
	Acts        []Act                       `json:"acts,omitempty"` // of the last day, in the order of their records
	PendingOffs map[string]PendingOffRecord `json:"dues,omitempty"` // by device
	Gap         time.Time                   `json:"gap,omitzero"`   // acts before this time may be missing; zero: none
}

// PendingOffRecord is the newest note on the switch-off of one device.
type PendingOffRecord struct {
	PendingOff *PendingOff `json:"due,omitempty"`
	Serial     uint64      `json:"serial"`
}

// Apply adds an entry to the ledger.
func (b *Ledger) Apply(n LedgerEntry) {
	if n.Act != nil {
		b.Acts = append(b.Acts, *n.Act)
		return
	}
	if n.Serial < b.PendingOffs[n.Device].Serial {
		return
	}
	if b.PendingOffs == nil {
		b.PendingOffs = map[string]PendingOffRecord{}
	}
	b.PendingOffs[n.Device] = PendingOffRecord{n.PendingOff, n.Serial}
}

// Serial returns the highest serial number of the notes.
func (b Ledger) Serial() (n uint64) {
	for _, o := range b.PendingOffs {
		n = max(n, o.Serial)
	}
	return n
}

// clone returns a copy without shared mutable parts.
func (b Ledger) clone() Ledger {
	return Ledger{slices.Clone(b.Acts), maps.Clone(b.PendingOffs), b.Gap}
}

// keepActsFor is how long the ledger keeps an act: the longest period of a rate. maxActs limits their
// number.
const (
	keepActsFor = 24 * time.Hour
	maxActs     = 100_000
)

// forgetActs drops the oldest acts that no longer count. An act with a future time stays,
// because the clock may have gone back.
func (b *Ledger) forgetActs(now time.Time) {
	old := 0
	for old < len(b.Acts) && now.Sub(b.Acts[old].At) > keepActsFor {
		old++
	}
	b.Acts = b.Acts[old:]
}

// bytes returns the approximate size of the ledger in the journal.
func (b *Ledger) bytes() int64 { return int64(len(b.Acts)*96 + len(b.PendingOffs)*192) }

// record returns the record of a note.
func (n LedgerEntry) record() record {
	if n.Act != nil {
		return record{Kind: kindAct, Act: n.Act}
	}
	return record{Kind: kindDue, Device: n.Device, Due: n.PendingOff, Serial: n.Serial}
}

// note returns the note of a record; ok is false for other records.
func (r record) note() (n LedgerEntry, ok bool) {
	return LedgerEntry{r.Act, r.Device, r.Due, r.Serial}, r.Kind == kindAct || r.Kind == kindDue
}

// applyRecord adds a record to the ledger.
func (b *Ledger) applyRecord(r record) {
	if n, ok := r.note(); ok {
		b.Apply(n)
	} else if r.Book != nil {
		*b = r.Book.clone()
	}
}

// AppendLedger writes all notes or none. They are on the disk when it returns nil.
func (j *Journal) AppendLedger(ctx context.Context, notes ...LedgerEntry) error {
	records, err := j.appendEntries(nil, notes)
	if err != nil || len(records) == 0 {
		return err
	}
	return j.writeRecords(ctx, nil, false, records...)
}

// appendEntries appends the records of notes, and rejects an act beyond the limit.
func (j *Journal) appendEntries(records []record, notes []LedgerEntry) ([]record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range notes {
		if n.Act != nil {
			j.ledger.forgetActs(j.now())
		}
		if n.Act != nil && len(j.ledger.Acts) >= maxActs {
			return nil, fmt.Errorf("journal: %w: it has %d acts of one day", wal.ErrFull, maxActs)
		}
		records = append(records, n.record())
	}
	return records, nil
}

// Ledger returns the current ledger. The error is always nil.
func (j *Journal) Ledger() (Ledger, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ledger.clone(), nil
}

// HasLedger reports whether the journal has a ledger, and whether the disk has all of it.
func (j *Journal) HasLedger() (begun, whole bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hasLedger, j.hasLedger && !j.unwritten
}

// CreateLedger writes the first ledger of a journal. After an error the ledger counts in memory until
// the program ends or Repair writes it.
func (j *Journal) CreateLedger(ctx context.Context, b Ledger) error {
	return j.writeOrKeep(ctx, record{Kind: kindBook, Book: &b}, nil)
}

// ReadOnlyLedger reads the ledger in the folder of a journal, for a program that does not write it.
type ReadOnlyLedger string

// Ledger reads the ledger. It is empty if there is no journal.
func (dir ReadOnlyLedger) Ledger() (Ledger, error) {
	r, err := Read(string(dir))
	switch {
	case isMissing(err):
		return Ledger{}, nil
	case err != nil:
		return Ledger{}, err
	case len(r.Violations) > 0:
		return Ledger{}, r.Violations[0]
	}
	return r.Ledger, nil
}

// AppendLedger always returns an error: the journal belongs to another program.
func (ReadOnlyLedger) AppendLedger(context.Context, ...LedgerEntry) error {
	return errors.New("journal: this program may only read it")
}
