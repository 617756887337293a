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
	"time"

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

// Asked is what is written when a requester was asked something: enough to go on
// waiting for the answer after a crash.
type Asked struct {
	Ref   string          `json:"ref"`   // of the thread
	Epoch uint64          `json:"epoch"` // of the claim
	Boot  string          `json:"boot"`  // names the run of the program that has claimed it
	Memo  json.RawMessage `json:"memo"`  // the question
}

// Task is one thread in the journal.
type Task struct {
	Ref    string
	Epoch  uint64        // of the newest claim
	Asked  *Asked        // what its requester was asked, and has not answered yet; nil: nothing
	Intent *Intent       // nil if the world was not to be touched yet
	Begun  int           // how many intents were written: more than one if it was begun again after a crash
	Found  int           // how often a later run of the program has found it open
	Report *mess.Message // what is to be said to the exchange; nil while it is being worked on
}

// Open reports whether it has begun and not ended.
func (t Task) Open() bool { return t.Intent != nil && t.Report == nil }

// Options of a journal.
type Options struct {
	MaxBytes int64            // bound of what is on the disk; reports that wait are kept beyond it, tasks are not begun
	Now      func() time.Time // dates what is written; nothing depends on it
}

// DefaultOptions are what Open uses. Begun and unreported threads are few, and
// their reports are at most some 100 KB each.
func DefaultOptions() Options { return Options{MaxBytes: 64 << 20, Now: time.Now} }

// segmentBytes is reserved on the disk at a time.
const segmentBytes = 1 << 20

// compactBytes is the size from which the journal is compacted when most of it
// is about threads that are done with.
const compactBytes = 256 << 10

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	dir  string
	opts Options
	now  func() time.Time

	// write is held for reading while a record is written and believed, and for
	// writing while the journal is compacted or opened again. It guards the next
	// three.
	write  sync.RWMutex
	log    *wal.Log // nil while it could not be opened again
	lost   error    // why not
	before int64    // written before Mend has opened it anew, in bytes

	tries *tries

	mu      sync.Mutex
	tasks   map[string]*state
	lates   map[string]record // the watches for late acts, by thread
	next    uint64            // number of the next report
	fresh   bool
	unclean []string
	behind  bool // something is known that is not on the disk
	damage  []wal.Damage
	runs    []string // the processes that have written it, the last ones
	anyRun  bool     // no names were written before this run
	book    Book
	kept    bool // the book was begun
}

type state struct {
	Task
	asked, intent, done *record // as they were written
	order               uint64  // of its report among the reports
}

// Open opens the journal in dir, which is made if it is not there.
func Open(dir string) (*Journal, error) { return DefaultOptions().Open(dir) }

// Open is the package's Open with options.
func (o Options) Open(dir string) (*Journal, error) {
	j := &Journal{dir: dir, opts: o, now: o.Now, tasks: map[string]*state{}, lates: map[string]record{}, fresh: true}
	log, err := j.open(j.replay, &j.damage)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j.log, j.tries = log, openTries(dir)
	if j.gaps() {
		j.book.Gap = j.stamp()
	}
	switch {
	case j.fresh:
		err = j.append(context.Background(), record{Kind: kindBegun, At: j.stamp()})
	case j.gaps():
		_ = j.compact(context.Background()) // if the disk does not take it, the next start finds the same damage
	}
	if err != nil {
		return nil, errors.Join(err, log.Close(), j.tries.close())
	}
	for _, s := range j.sorted() {
		if s.Open() {
			j.unclean = append(j.unclean, s.Ref)
		}
	}
	return j, nil
}

// open opens the log. It adds what it finds damaged to damage; if that is nil, damage is
// an error.
func (j *Journal) open(replay func([]byte) error, damage *[]wal.Damage) (*wal.Log, error) {
	o := wal.Options{SegmentBytes: segmentBytes, MaxBytes: j.opts.MaxBytes, Now: j.now}
	if damage != nil {
		o.Damaged = func(d wal.Damage) error { *damage = append(*damage, d); return nil }
	}
	return o.Open(j.dir, replay)
}

func (j *Journal) replay(data []byte) error {
	r, report, err := parse(data)
	if err != nil {
		return err
	}
	j.fresh = false
	j.apply(r, report)
	return nil
}

// Fresh reports whether nothing had ever been written to the journal before it
// was opened, or some of what was written could not be read: it then does not know all
// that an executor with a lost disk did.
func (j *Journal) Fresh() bool { return j.fresh || j.gaps() }

// Damage lists the damage that Open found.
func (j *Journal) Damage() []wal.Damage { return slices.Clone(j.damage) }

// gaps reports whether damage has cost records.
func (j *Journal) gaps() bool {
	return slices.ContainsFunc(j.damage, func(d wal.Damage) bool { return !d.Mended })
}

// Unclean lists the threads in whose midst the last run of the program has
// died: those that had begun and not ended when the journal was opened.
func (j *Journal) Unclean() []string { return slices.Clone(j.unclean) }

// Written is how much was written to the disk since the journal was opened, and
// how much of it today, in bytes. After Mend, today begins anew.
func (j *Journal) Written() (total, today int64) {
	j.write.RLock()
	defer j.write.RUnlock()
	if j.log != nil {
		total, today = j.log.Written()
	}
	return j.before + total, today
}

// Close closes the journal.
func (j *Journal) Close() error {
	j.write.Lock()
	defer j.write.Unlock()
	err := j.tries.close()
	if j.log == nil {
		j.lost = fmt.Errorf("journal: %w", wal.ErrClosed)
		return err
	}
	return errors.Join(err, j.log.Close())
}

// Intent writes that the world is about to be touched, with notes in the same sync. Once
// it has returned nil, and not before, it may be.
func (j *Journal) Intent(ctx context.Context, i Intent, notes ...Note) error {
	records, err := j.noted([]record{{Kind: kindIntent, Intent: &i}}, notes)
	if err != nil {
		return err
	}
	return j.note(ctx, nil, false, records...) // what is not on the disk permits nothing
}

// Asked writes that a requester was asked something. Until an Intent, a Done or
// Sent the answer is waited for. With an error it is known as long as the
// program runs.
func (j *Journal) Asked(ctx context.Context, a Asked) error {
	return j.tell(ctx, record{Kind: kindAsked, Asked: &a}, nil)
}

// Found writes that run boot of the program has found a thread open, and is
// about to see to it. What is found open again has brought the program down
// again.
func (j *Journal) Found(ctx context.Context, ref, boot string) error {
	return j.tell(ctx, record{Kind: kindFound, Ref: ref, Boot: boot}, nil)
}

// Done writes what is to be said at the end of a thread, which takes the place
// of what was to be said before, and keeps it until Sent. With an error it is
// kept in memory alone, until Mend.
func (j *Journal) Done(ctx context.Context, ref string, epoch uint64, report mess.Message) error {
	data, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("journal: report on %s: %w", ref, err)
	}
	return j.tell(ctx, record{Kind: kindDone, Ref: ref, Epoch: epoch, Report: data}, &report)
}

// Sent writes that the exchange has taken the report on a thread, or has
// refused it for good, or that there is nothing to be told; the thread is forgotten, even with an error: whoever
// opens the journal next may then send the report again.
func (j *Journal) Sent(ctx context.Context, ref string) error {
	if _, ok := j.Task(ref); !ok {
		return nil
	}
	if err := j.tell(ctx, record{Kind: kindSent, Ref: ref}, nil); err != nil && !errors.Is(err, wal.ErrFull) {
		return err
	}
	return j.tidy(ctx)
}

// Late is a watch for late acts of the commands of a thread.
type Late struct {
	Ref   string
	Epoch uint64
	At    time.Time       // when it was written
	Memo  json.RawMessage // with it a later run goes on watching
}

// Late writes that the agent watches the devices of a thread's commands for late acts. With
// memo a later run goes on with the watch; nil ends it. The watch outlives the thread, and
// replaces the one before.
func (j *Journal) Late(ctx context.Context, ref string, epoch uint64, memo json.RawMessage) error {
	return j.tell(ctx, record{Kind: kindLate, Ref: ref, Epoch: epoch, Late: memo}, nil)
}

// Lates returns the watches that are not over, by thread.
func (j *Journal) Lates() (list []Late) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, ref := range slices.Sorted(maps.Keys(j.lates)) {
		r := j.lates[ref]
		list = append(list, Late{Ref: ref, Epoch: r.Epoch, At: r.At, Memo: r.Late})
	}
	return list
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
