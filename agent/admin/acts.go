package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/internal/wal"
)

// Acts is a gate's ledger on the disk: acts of the last day. A log that cannot
// be opened or written is opened again at the next use.
type Acts struct {
	dir string
	now func() time.Time

	mu      sync.Mutex
	log     *wal.Log // nil while it is not open
	acts    []gate.Act
	records int // in the log
}

var _ gate.Ledger = (*Acts)(nil)

// keep is how long acts count at most (gate.Rate), and compactBytes the size
// from which those that do not are taken out of the log.
const (
	keep         = 24 * time.Hour
	compactBytes = 64 << 10
)

// Acts is the ledger in the folder.
func (f Folder) Acts(now func() time.Time) *Acts {
	return &Acts{dir: filepath.Join(f.dir, "acts"), now: now}
}

// open opens the log, unless it is open and can be written. mu is held.
func (a *Acts) open() error {
	if a.log != nil && a.log.Err() == nil {
		return nil
	}
	if a.log != nil {
		_ = a.log.Close() // it is of no use any more
	}
	a.log, a.acts, a.records = nil, nil, 0
	o := wal.Options{SegmentBytes: 64 << 10, MaxBytes: 16 << 20}
	o.Damaged = func(d wal.Damage) error {
		if d.Mended {
			return nil
		}
		return d // who does not know all acts allows none
	}
	log, err := o.Open(a.dir, a.replay)
	if err != nil {
		return fmt.Errorf("acts: %w", err)
	}
	a.log = log
	return nil
}

// replay takes a record. mu is held.
func (a *Acts) replay(record []byte) error {
	var act gate.Act
	if err := json.Unmarshal(record, &act); err != nil {
		return err
	}
	a.acts = append(a.acts, act)
	a.records++
	return nil
}

// past is a ledger that is only read, beside a program that writes it.
type past struct{ dir string }

// Past is what was done lately, for who asks what would be now.
func (f Folder) Past() gate.Ledger { return past{filepath.Join(f.dir, "acts")} }

// Acts implements gate.Ledger; where nothing was done yet there are none.
func (p past) Acts() (acts []gate.Act, err error) {
	_, err = wal.Read(p.dir, func(e wal.Entry) error {
		var act gate.Act
		if err := json.Unmarshal(e.Data, &act); err != nil {
			return err
		}
		acts = append(acts, act)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return acts, err
}

// Note implements gate.Ledger.
func (past) Note(context.Context, gate.Act) error { return errors.New("acts: they are only read") }

// Acts implements gate.Ledger.
func (a *Acts) Acts() ([]gate.Act, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.open(); err != nil {
		return nil, err
	}
	return slices.Clone(a.acts), nil
}

// Note implements gate.Ledger.
func (a *Acts) Note(ctx context.Context, act gate.Act) error {
	record, err := json.Marshal(act)
	if err != nil {
		return err
	}
	a.mu.Lock() // for as long as it takes: what is compacted must be all
	defer a.mu.Unlock()
	if err := a.open(); err != nil {
		return err
	}
	if a.log.Size() > compactBytes {
		err = a.compact(ctx)
	}
	if err = errors.Join(err, a.log.Append(ctx, record)); err != nil {
		return err
	}
	a.acts = append(a.acts, act)
	a.records++
	return nil
}

// compact leaves out what is old. What bears a time to come stays: a clock that
// was put back would count it. mu is held.
func (a *Acts) compact(ctx context.Context) error {
	a.acts = slices.DeleteFunc(a.acts, func(act gate.Act) bool { return a.now().Sub(act.At) > keep })
	if len(a.acts) > a.records/2 {
		return nil // there is little to gain
	}
	a.records = len(a.acts)
	return a.log.Compact(ctx, records(a.acts))
}

func records(acts []gate.Act) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, act := range acts {
			record, err := json.Marshal(act)
			if err != nil {
				panic(err) // it was read or written before
			}
			if !yield(record) {
				return
			}
		}
	}
}

// Close closes the ledger.
func (a *Acts) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		return nil
	}
	return a.log.Close()
}
