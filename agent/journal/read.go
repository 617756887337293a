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

// RecordInfo is one record of a journal on the disk.
type RecordInfo struct {
	File   string // path
	Offset int64  // position of its frame in the file, in bytes
	Bytes  int    // length of the record
	Kind   string
	At     time.Time // zero in records of an older program
	Ref    string    // "" for records without a thread
	Epoch  uint64
	Digest string          // intent
	Boot   string          // intent and found: the run of the program
	Plan   json.RawMessage // intent
	Begun  int             // intent: number of intents
	Found  int             // intent: number of runs that found it open
	Report *mess.Message   // done
}

// Violation is a violation of a rule in a journal.
type Violation struct {
	File   string
	Offset int64  // in bytes
	Rule   string // a rule of this package or of package wal
	What   string
}

func (m *Violation) Error() string {
	return fmt.Sprintf("%s: byte %d: %s: %s", m.File, m.Offset, m.Rule, m.What)
}

// Contents is the content of a journal on the disk.
type Contents struct {
	Records    []RecordInfo
	Ledger     Ledger
	Violations []*Violation // violations of rules; reading stops at damage of a file
	Tail       wal.Tail
}

// isMissing reports whether there is no journal.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Read reads the journal in dir without changes to the disk, even while another program has the
// journal open. It returns an error if it cannot read the journal at all.
func Read(dir string) (Contents, error) {
	var r Contents
	var c checker
	tail, err := wal.Read(dir, func(e wal.Record) error {
		line, err := c.line(e, &r.Ledger)
		r.Records = append(r.Records, line)
		if broken, ok := errors.AsType[*ruleError](err); ok {
			r.Violations = append(r.Violations, &Violation{e.File, e.Offset, broken.rule, broken.what})
		}
		return nil
	})
	r.Tail = tail
	if damage, ok := errors.AsType[*wal.CorruptError](err); ok {
		r.Violations = append(r.Violations, &Violation{damage.File, damage.Offset, damage.Rule, damage.What})
		err = nil
	}
	if err != nil {
		return Contents{}, fmt.Errorf("journal: %w", err)
	}
	return r, nil
}

// checker checks each record against the earlier ones.
type checker struct {
	begun bool
	epoch map[string]uint64 // the newest epoch of each known thread
}

func (c *checker) line(e wal.Record, b *Ledger) (RecordInfo, error) {
	l := RecordInfo{File: e.File, Offset: e.Offset, Bytes: len(e.Data)}
	r, report, err := parse(e.Data)
	if err != nil {
		return l, err
	}
	b.applyRecord(r)
	l.Kind, l.At, l.Ref, l.Epoch, l.Boot, l.Report = r.Kind, r.At, r.thread(), r.epoch(), r.Boot, report
	if r.Asked != nil {
		l.Boot = r.Asked.Boot
	}
	if i := r.Intent; i != nil {
		l.Digest, l.Boot, l.Plan, l.Begun, l.Found = i.Digest, i.Boot, i.Plan, max(1, r.Begun), r.Found
	}
	return l, c.follows(r)
}

// follows checks that a record is valid at its position.
func (c *checker) follows(r record) error {
	if first := !c.begun; first != (r.Kind == kindBegun) {
		c.begun = true
		return &ruleError{RuleFirst, fmt.Sprintf("a record of kind %s is at the wrong position: only the first record is begun", r.Kind)}
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
			return &ruleError{RuleOrder, fmt.Sprintf("%s of %s has no earlier record of that thread", r.Kind, ref)}
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

// States of a thread in a journal on the disk.
const (
	StateAsked    = "asked"    // its requester has not answered a question
	StateIntent   = "intent"   // an act was to begin, and its result is missing
	StateDone     = "done"     // the exchange does not have the report yet
	StateReported = "reported" // the exchange has the report
)

// ThreadInfo is a thread in a journal on the disk.
type ThreadInfo struct {
	Ref     string
	Epoch   uint64 // of the newest claim
	State   string
	Digest  string       // of the plan
	Boot    string       // the run of the program that began it last
	At      time.Time    // time of its newest record
	Bytes   int          // length of its records
	Begun   int          // number of intents
	Found   int          // number of later runs that found it open
	Records []RecordInfo // its records
}

// Threads returns the threads that the journal still contains, in the order of their first
// records. A thread that came again after its report has two entries.
func (r Contents) Threads() []*ThreadInfo {
	var list []*ThreadInfo
	current := map[string]*ThreadInfo{}
	for _, l := range r.Records {
		if l.Ref == "" {
			continue
		}
		e := current[l.Ref]
		if e == nil || e.State == StateReported && l.Kind != kindLate {
			e = &ThreadInfo{Ref: l.Ref}
			current[l.Ref] = e
			list = append(list, e)
		}
		e.add(l)
	}
	return list
}

func (e *ThreadInfo) add(l RecordInfo) {
	e.Records = append(e.Records, l)
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
