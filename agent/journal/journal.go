// Package journal is what an executor knows of the threads in which it has
// touched the world: that it was going to, that it has, and what it has to say
// about it. Every word is on the disk before the call returns, so that after
// any crash the executor can tell the truth. It is also the outbox: a report
// stays until the exchange has taken it.
//
// It does not know what a plan is, nor who the exchange is.
package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// Intent is what is written before the world is touched.
type Intent struct {
	Ref    string          `json:"ref"`    // of the thread
	Epoch  uint64          `json:"epoch"`  // of the claim
	Digest string          `json:"digest"` // of the plan
	Boot   string          `json:"boot"`   // names the run of the program
	Plan   json.RawMessage `json:"plan"`   // what is needed to look at the device again after a crash
}

// Task is one thread in the journal.
type Task struct {
	Ref    string
	Epoch  uint64        // of the newest claim
	Intent *Intent       // nil if the world was not to be touched yet
	Begun  int           // how many intents were written: more than one if it was begun again after a crash
	Report *mess.Message // what is to be said to the exchange; nil while it is being worked on
}

// Open reports whether it has begun and not ended.
func (t Task) Open() bool { return t.Intent != nil && t.Report == nil }

// MaxBytes bounds the journal on the disk. Begun and unreported threads are few,
// and their reports are at most some 100 KB each.
const MaxBytes = 64 << 20

// compactBytes is the size from which the journal is compacted when most of it
// is about threads that are done with.
const compactBytes = 256 << 10

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	log *wal.Log

	// write is held for reading while a record is written and believed, and for
	// writing while the journal is compacted.
	write sync.RWMutex

	mu    sync.Mutex
	tasks map[string]*state
	next  uint64 // number of the next report
	fresh bool
}

type state struct {
	Task
	report json.RawMessage
	order  uint64 // of its report among the reports
}

// Open opens the journal in dir, which is made if it is not there.
func Open(dir string) (*Journal, error) { return OpenMax(dir, MaxBytes) }

// OpenMax is Open with another bound, in bytes.
func OpenMax(dir string, maxBytes int64) (*Journal, error) {
	j := &Journal{tasks: map[string]*state{}, fresh: true}
	log, err := wal.Options{SegmentBytes: 1 << 20, MaxBytes: maxBytes}.Open(dir, j.replay)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j.log = log
	if j.fresh {
		err = j.append(context.Background(), record{Kind: kindBegun})
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return j, nil
}

// Fresh reports whether nothing had ever been written to the journal before it
// was opened: it then knows nothing of what an executor with a lost disk did.
func (j *Journal) Fresh() bool { return j.fresh }

// Err tells why nothing can be written any more, or nil. An executor whose
// journal cannot be written must not touch the world.
func (j *Journal) Err() error { return j.log.Err() }

// lowRoom is the least room in which a task may be begun: enough for its intent
// and for the reports of what runs already, in bytes.
const lowRoom = 128 << 10

// Ready returns nil if there is room for another task. Where the disk is about
// to be full it is said here, before anything is begun, and not in its midst.
func (j *Journal) Ready(ctx context.Context) error {
	if err := j.log.Err(); err != nil || j.log.Room() >= lowRoom {
		return err
	}
	return j.compact(ctx)
}

// Close closes the journal.
func (j *Journal) Close() error { return j.log.Close() }

// Intent writes that the world is about to be touched. Once it has returned
// nil, and not before, it may be.
func (j *Journal) Intent(ctx context.Context, i Intent) error {
	return j.note(ctx, record{Kind: kindIntent, Intent: &i})
}

// Done writes what is to be said at the end of a thread, which takes the place
// of what was to be said before, and keeps it until Sent.
func (j *Journal) Done(ctx context.Context, ref string, epoch uint64, report mess.Message) error {
	data, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("journal: report on %s: %w", ref, err)
	}
	return j.note(ctx, record{Kind: kindDone, Ref: ref, Epoch: epoch, Report: data})
}

// Sent writes that the exchange has taken the report on a thread, or has
// refused it for good; the thread is forgotten.
func (j *Journal) Sent(ctx context.Context, ref string) error {
	if _, ok := j.Task(ref); !ok {
		return nil
	}
	if err := j.note(ctx, record{Kind: kindSent, Ref: ref}); err != nil {
		return err
	}
	return j.tidy(ctx)
}

// Task returns what is known of one thread.
func (j *Journal) Task(ref string) (Task, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.tasks[ref]
	if s == nil {
		return Task{}, false
	}
	return s.Task, true
}

// Tasks returns every thread that is not done with: first those without a
// report, by ref, then the reports in the order in which they were written.
func (j *Journal) Tasks() []Task {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Task
	for _, s := range j.sorted() {
		list = append(list, s.Task)
	}
	return list
}

// sorted returns the states in the order of Tasks. mu is held.
func (j *Journal) sorted() []*state {
	return slices.SortedFunc(maps.Values(j.tasks), func(a, b *state) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Ref, b.Ref))
	})
}
