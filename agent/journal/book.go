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

// Act is one time that a device was made to act.
type Act struct {
	Device string    `json:"device"`
	By     string    `json:"by,omitempty"` // the requester
	At     time.Time `json:"at"`
}

// Due says when a device that is on has to be switched off.
type Due struct {
	At     time.Time     `json:"at"`
	On     time.Time     `json:"on"`     // since when it is on
	Within time.Duration `json:"within"` // until At, when it was written; in ns
}

// Note is one entry of the book: an act, or what is due of a device.
type Note struct {
	Act    *Act
	Device string // that Due is about
	Due    *Due   // nil: nothing is due any more
	Serial uint64 // grows with each note on what is due; an older note changes nothing
}

// Book is what the safety policy must know after a restart: how often devices have acted,
// and what is still to be switched off.
type Book struct {
	Acts []Act           // of the last day, in the order in which they were written
	Dues map[string]Owed // by device
	Gap  time.Time       // acts from before it may be missing; zero: all are there
}

// Owed is the newest note on what is due of one device.
type Owed struct {
	Due    *Due   `json:"due,omitempty"`
	Serial uint64 `json:"serial"`
}

// Apply takes a note into the book.
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

// clone returns a copy that shares nothing that changes.
func (b Book) clone() Book {
	return Book{slices.Clone(b.Acts), maps.Clone(b.Dues), b.Gap}
}

// actsFor is how long an act is kept: the longest time that a rate counts over. maxActs
// bounds how many are kept.
const (
	actsFor = 24 * time.Hour
	maxActs = 100_000
)

// forgetActs drops the oldest acts that count no more. An act with a time to come stays:
// the clock may have been put back.
func (b *Book) forgetActs(now time.Time) {
	old := 0
	for old < len(b.Acts) && now.Sub(b.Acts[old].At) > actsFor {
		old++
	}
	b.Acts = b.Acts[old:]
}

// bytes returns about how long the book is in the journal.
func (b *Book) bytes() int64 { return int64(len(b.Acts)*96 + len(b.Dues)*192) }

// bookRecord is a book in the journal. It takes the place of all notes before.
type bookRecord struct {
	Acts []Act           `json:"acts,omitempty"`
	Dues map[string]Owed `json:"dues,omitempty"`
	Gap  time.Time       `json:"gap,omitzero"`
}

// record returns a note as it is written.
func (n Note) record() record {
	if n.Act != nil {
		return record{Kind: kindAct, Act: n.Act}
	}
	return record{Kind: kindDue, Device: n.Device, Due: n.Due, Serial: n.Serial}
}

// note returns the note that a record is; ok is false where it is none.
func (r record) note() (n Note, ok bool) {
	return Note{r.Act, r.Device, r.Due, r.Serial}, r.Kind == kindAct || r.Kind == kindDue
}

// take takes a record into the book.
func (b *Book) take(r record) {
	if n, ok := r.note(); ok {
		b.Apply(n)
	} else if r.Book != nil {
		*b = Book{r.Book.Acts, r.Book.Dues, r.Book.Gap}.clone()
	}
}

// Note writes notes: all of them or none. They are on the disk when it returns nil.
func (j *Journal) Note(ctx context.Context, notes ...Note) error {
	records, err := j.noted(nil, notes)
	if err != nil || len(records) == 0 {
		return err
	}
	return j.note(ctx, nil, false, records...)
}

// noted appends the records of notes, and refuses an act beyond the bound.
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

// Book returns the book as it is now. The error is always nil.
func (j *Journal) Book() (Book, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.book.clone(), nil
}

// HasBook reports whether the book was begun, and whether the disk has all of it.
func (j *Journal) HasBook() (begun, whole bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.kept, j.kept && !j.behind
}

// BeginBook writes the first book of a journal. With an error the book counts as long as
// the program runs, and until Mend.
func (j *Journal) BeginBook(ctx context.Context, b Book) error {
	return j.tell(ctx, record{Kind: kindBook, Book: &bookRecord{b.Acts, b.Dues, b.Gap}}, nil)
}

// Past is the book in the folder of a journal, for a program that only reads it.
type Past string

// Book reads the book. Where there is no journal, the book is empty.
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

// Note refuses: the journal belongs to another program.
func (Past) Note(context.Context, ...Note) error {
	return errors.New("journal: it is only read here")
}
