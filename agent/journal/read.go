package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// Line is one record of a journal on the disk.
type Line struct {
	File   string // path
	Offset int64  // of its frame in the file, in bytes
	Bytes  int    // of the record
	Kind   string
	At     time.Time // zero where an older program has written it
	Ref    string    // "" for begun
	Epoch  uint64
	Digest string          // intent
	Boot   string          // intent and found: the run of the program
	Plan   json.RawMessage // intent
	Begun  int             // intent: how many were written
	Found  int             // intent: how often it was found open
	Report *mess.Message   // done
}

// Mistake is a place in a journal that breaks a rule.
type Mistake struct {
	File   string
	Offset int64  // in bytes
	Rule   string // of this package or of package wal
	What   string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("%s: byte %d: %s: %s", m.File, m.Offset, m.Rule, m.What)
}

// Reading is what a journal on the disk says.
type Reading struct {
	Lines    []Line
	Book     Book
	Mistakes []*Mistake // what breaks a rule; what follows damage of a file is not read
	Tail     wal.Tail
}

// isMissing reports whether there is no journal to read.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Read reads the journal in dir. It changes nothing on the disk, so it may be
// used beside a program that has the journal open. The error tells that it
// cannot be read at all.
func Read(dir string) (Reading, error) {
	var r Reading
	var c checker
	tail, err := wal.Read(dir, func(e wal.Entry) error {
		line, err := c.line(e, &r.Book)
		r.Lines = append(r.Lines, line)
		if broken, ok := errors.AsType[*ruleError](err); ok {
			r.Mistakes = append(r.Mistakes, &Mistake{e.File, e.Offset, broken.rule, broken.what})
		}
		return nil
	})
	r.Tail = tail
	if damage, ok := errors.AsType[*wal.CorruptError](err); ok {
		r.Mistakes = append(r.Mistakes, &Mistake{damage.File, damage.Offset, damage.Rule, damage.What})
		err = nil
	}
	if err != nil {
		return Reading{}, fmt.Errorf("journal: %w", err)
	}
	return r, nil
}

// checker holds each record to what came before it.
type checker struct {
	begun bool
	epoch map[string]uint64 // of the threads that are known
}

func (c *checker) line(e wal.Entry, b *Book) (Line, error) {
	l := Line{File: e.File, Offset: e.Offset, Bytes: len(e.Data)}
	r, report, err := parse(e.Data)
	if err != nil {
		return l, err
	}
	b.take(r)
	l.Kind, l.At, l.Ref, l.Epoch, l.Boot, l.Report = r.Kind, r.At, r.thread(), r.epoch(), r.Boot, report
	if r.Asked != nil {
		l.Boot = r.Asked.Boot
	}
	if i := r.Intent; i != nil {
		l.Digest, l.Boot, l.Plan, l.Begun, l.Found = i.Digest, i.Boot, i.Plan, max(1, r.Begun), r.Found
	}
	return l, c.follows(r)
}

// follows tells whether a record may stand where it does.
func (c *checker) follows(r record) error {
	if first := !c.begun; first != (r.Kind == kindBegun) {
		c.begun = true
		return &ruleError{RuleFirst, fmt.Sprintf("a record of kind %s stands where it cannot: the first is begun, and no other", r.Kind)}
	}
	if c.epoch == nil {
		c.begun, c.epoch = true, map[string]uint64{}
	}
	ref := r.thread()
	was, known := c.epoch[ref]
	switch r.Kind {
	case kindBegun, kindRun, kindAct, kindDue, kindBook:
		return nil
	case kindFound, kindSent:
		if !known {
			return &ruleError{RuleOrder, fmt.Sprintf("%s of %s, and nothing before says that it had begun", r.Kind, ref)}
		}
		if r.Kind == kindSent {
			delete(c.epoch, ref)
		}
		return nil
	case kindLate: // the watch outlives the thread
		return nil
	}
	c.epoch[ref] = r.epoch()
	if r.epoch() < was {
		return &ruleError{RuleEpoch, fmt.Sprintf("%s under epoch %d, after epoch %d", ref, r.epoch(), was)}
	}
	return nil
}

// The states of a thread in a journal on the disk.
const (
	StateAsked    = "asked"    // its requester was asked, and has not answered
	StateIntent   = "intent"   // it was going to act, and has not said what came of it
	StateDone     = "done"     // what came of it is still to be reported
	StateReported = "reported" // the exchange has the report
)

// Entry is a thread in a journal on the disk.
type Entry struct {
	Ref    string
	Epoch  uint64 // of the newest claim
	State  string
	Digest string    // of the plan; "" if there was no intent
	Boot   string    // the run of the program that has begun it last
	At     time.Time // of its newest record
	Bytes  int       // of its records
	Begun  int       // how often it was begun
	Found  int       // how often a later run has found it open
	Lines  []Line    // its records
}

// Entries are the threads that a journal still names, in the order in which
// they came. One that was reported and has come again is there twice.
func (r Reading) Entries() []*Entry {
	var list []*Entry
	current := map[string]*Entry{}
	for _, l := range r.Lines {
		if l.Ref == "" {
			continue
		}
		e := current[l.Ref]
		if e == nil || e.State == StateReported && l.Kind != kindLate {
			e = &Entry{Ref: l.Ref}
			current[l.Ref] = e
			list = append(list, e)
		}
		e.add(l)
	}
	return list
}

func (e *Entry) add(l Line) {
	e.Lines = append(e.Lines, l)
	e.Bytes += l.Bytes
	if !l.At.IsZero() {
		e.At = l.At
	}
	switch l.Kind {
	case kindLate: // a compacted journal keeps only the watch of a reported thread
		e.State, e.Epoch = cmp.Or(e.State, StateReported), l.Epoch
	case kindAsked:
		e.State, e.Epoch, e.Boot = StateAsked, l.Epoch, l.Boot
	case kindIntent:
		e.State, e.Epoch, e.Digest, e.Boot = StateIntent, l.Epoch, l.Digest, l.Boot
		e.Begun += l.Begun
		e.Found += l.Found
	case kindFound:
		e.Found++
	case kindDone:
		e.State, e.Epoch = StateDone, l.Epoch
	case kindSent:
		e.State = StateReported
	}
}
