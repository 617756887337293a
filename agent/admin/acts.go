package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/internal/wal"
)

// Acts is a gate's ledger on the disk: acts of the last day.
type Acts struct {
	log *wal.Log
	now func() time.Time

	mu      sync.Mutex
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

// OpenActs opens the ledger.
func (f Folder) OpenActs(now func() time.Time) (*Acts, error) {
	a := &Acts{now: now}
	log, err := wal.Options{SegmentBytes: 64 << 10, MaxBytes: 16 << 20}.Open(filepath.Join(f.dir, "acts"), a.replay)
	if err != nil {
		return nil, fmt.Errorf("acts: %w", err)
	}
	a.log = log
	return a, nil
}

func (a *Acts) replay(record []byte) error {
	var act gate.Act
	if err := json.Unmarshal(record, &act); err != nil {
		return err
	}
	a.acts = append(a.acts, act)
	a.records++
	return nil
}

// Acts implements gate.Ledger.
func (a *Acts) Acts() []gate.Act {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.acts)
}

// Note implements gate.Ledger.
func (a *Acts) Note(ctx context.Context, act gate.Act) error {
	record, err := json.Marshal(act)
	if err != nil {
		return err
	}
	a.mu.Lock() // for as long as it takes: what is compacted must be all
	defer a.mu.Unlock()
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
func (a *Acts) Close() error { return a.log.Close() }
