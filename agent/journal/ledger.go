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

// Due records when a device that is on must go off.
type Due struct {
	At     time.Time     `json:"at"`
	On     time.Time     `json:"on"`     // start of the period on
	Within time.Duration `json:"within"` // time until At when the note was written; in ns
}

// Note is one entry of the book: an act, or the pending switch-off of a device.
type Note struct {
	Act    *Act
	Device string // the device of Due
	Due    *Due   // nil: no switch-off is pending
	Serial uint64 // grows with each note on a switch-off; an older note changes nothing
}

// Book holds the data that the safety policy needs after a restart: recent acts and pending
// switch-offs.
type Book struct {
	Acts []Act           // of the last day, in the order of their records
	Dues map[string]Owed // by device
	Gap  time.Time       // acts before this time may be missing; zero: none
}

// Owed is the newest note on the switch-off of one device.
type Owed struct {
	Due    *Due   `json:"due,omitempty"`
	Serial uint64 `json:"serial"`
}

// Apply adds a note to the book.
func (b *Book) Apply(n Note) {
	if n.Act != nil {
		b.Acts = append(b.Acts, *n.Act)
		return
	}
	if n.Serial < b.Dues[n.Device].Serial {
		return
	}
	if b.Dues == nil {
		b.Dues = map[string]Owed{}
	}
	b.Dues[n.Device] = Owed{n.Due, n.Serial}
}

// Serial returns the highest serial number of the notes.
func (b Book) Serial() (n uint64) {
	for _, o := range b.Dues {
		n = max(n, o.Serial)
	}
	return n
}

// clone returns a copy without shared mutable parts.
func (b Book) clone() Book {
	return Book{slices.Clone(b.Acts), maps.Clone(b.Dues), b.Gap}
}

// actsFor is how long the book keeps an act: the longest period of a rate. maxActs limits their
// number.
const (
	actsFor = 24 * time.Hour
	maxActs = 100_000
)

// forgetActs drops the oldest acts that no longer count. An act with a future time stays,
// because the clock may have gone back.
func (b *Book) forgetActs(now time.Time) {
	old := 0
	for old < len(b.Acts) && now.Sub(b.Acts[old].At) > actsFor {
		old++
	}
	b.Acts = b.Acts[old:]
}

// bytes returns the approximate size of the book in the journal.
func (b *Book) bytes() int64 { return int64(len(b.Acts)*96 + len(b.Dues)*192) }

// bookRecord is a book in the journal. It replaces all earlier notes.
type bookRecord struct {
	Acts []Act           `json:"acts,omitempty"`
	Dues map[string]Owed `json:"dues,omitempty"`
	Gap  time.Time       `json:"gap,omitzero"`
}

// record returns the record of a note.
func (n Note) record() record {
	if n.Act != nil {
		return record{Kind: kindAct, Act: n.Act}
	}
	return record{Kind: kindDue, Device: n.Device, Due: n.Due, Serial: n.Serial}
}

// note returns the note of a record; ok is false for other records.
func (r record) note() (n Note, ok bool) {
	return Note{r.Act, r.Device, r.Due, r.Serial}, r.Kind == kindAct || r.Kind == kindDue
}

// take adds a record to the book.
func (b *Book) take(r record) {
	if n, ok := r.note(); ok {
		b.Apply(n)
	} else if r.Book != nil {
		*b = Book{r.Book.Acts, r.Book.Dues, r.Book.Gap}.clone()
	}
}

// Note writes all notes or none. They are on the disk when it returns nil.
func (j *Journal) Note(ctx context.Context, notes ...Note) error {
	records, err := j.noted(nil, notes)
	if err != nil || len(records) == 0 {
		return err
	}
	return j.note(ctx, nil, false, records...)
}

// noted appends the records of notes, and rejects an act beyond the limit.
func (j *Journal) noted(records []record, notes []Note) ([]record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range notes {
		if n.Act != nil {
			j.book.forgetActs(j.now())
		}
		if n.Act != nil && len(j.book.Acts) >= maxActs {
			return nil, fmt.Errorf("journal: %w: it has %d acts of one day", wal.ErrFull, maxActs)
		}
		records = append(records, n.record())
	}
	return records, nil
}

// Book returns the current book. The error is always nil.
func (j *Journal) Book() (Book, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.book.clone(), nil
}

// HasBook reports whether the journal has a book, and whether the disk has all of it.
func (j *Journal) HasBook() (begun, whole bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.kept, j.kept && !j.behind
}

// BeginBook writes the first book of a journal. After an error the book counts in memory until
// the program ends or Mend writes it.
func (j *Journal) BeginBook(ctx context.Context, b Book) error {
	return j.tell(ctx, record{Kind: kindBook, Book: &bookRecord{b.Acts, b.Dues, b.Gap}}, nil)
}

// Past reads the book in the folder of a journal, for a program that does not write it.
type Past string

// Book reads the book. It is empty if there is no journal.
func (dir Past) Book() (Book, error) {
	r, err := Read(string(dir))
	switch {
	case isMissing(err):
		return Book{}, nil
	case err != nil:
		return Book{}, err
	case len(r.Mistakes) > 0:
		return Book{}, r.Mistakes[0]
	}
	return r.Book, nil
}

// Note always returns an error: the journal belongs to another program.
func (Past) Note(context.Context, ...Note) error {
	return errors.New("journal: it is only read here")
}
