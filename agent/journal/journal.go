// Package journal stores the threads in which an executor acts: its intent before an act, and
// its report afterwards. Each record is on the disk before the call returns, so that the
// executor can report the truth after any crash. It is also the outbox: a report stays until
// the exchange has taken it.
//
// It does not know the contents of a plan, nor the exchange.
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

// Intent is the record that precedes an act.
type Intent struct {
	Ref    string          `json:"ref"`    // the thread
	Epoch  uint64          `json:"epoch"`  // of the claim
	Digest string          `json:"digest"` // of the plan
	Boot   string          `json:"boot"`   // names the run of the program
	Plan   json.RawMessage `json:"plan"`   // the data for checking the device after a crash
}

// Question is the record of a question to a requester: enough to keep waiting for the answer after
// a crash.
type Question struct {
	Ref   string          `json:"ref"`   // the thread
	Epoch uint64          `json:"epoch"` // of the claim
	Boot  string          `json:"boot"`  // names the run of the program that made the claim
	Data  json.RawMessage `json:"memo"`  // the question
}

// Task is one thread in the journal.
type Task struct {
	Ref      string
	Epoch    uint64        // of the newest claim
	Question *Question     // the open question to its requester; nil: none
	Intent   *Intent       // nil before the first act
	Begun    int           // number of intents; more than one if a later run began it again after a crash
	Found    int           // how often a later run of the program has found it open
	Report   *mess.Message // the report for the exchange; nil while the executor works on it
}

// Open reports whether the thread has an intent and no report.
func (t Task) Open() bool { return t.Intent != nil && t.Report == nil }

// Options configures a journal.
type Options struct {
	MaxBytes int64            // size limit on the disk; waiting reports may exceed it, new tasks may not
	Now      func() time.Time // dates the records; nothing depends on it
}

// DefaultOptions returns the options of Open. Open threads are few, and their reports have at
// most some 100 KB each.
func DefaultOptions() Options { return Options{MaxBytes: 64 << 20, Now: time.Now} }

// segmentBytes is the size of one reservation on the disk.
const segmentBytes = 1 << 20

// compactBytes is the size from which the journal compacts itself when most of it concerns
// finished threads.
const compactBytes = 256 << 10

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	dir  string
	opts Options
	now  func() time.Time

	// Writers of a record hold write for reading until memory has the record; compaction and
	// reopening hold it for writing. It guards the next three fields.
	write         sync.RWMutex
	log           *wal.Log // nil after a failed reopening
	openErr       error    // the reason for that
	writtenBefore int64    // bytes written before Repair reopened it

	crashCounts *crashCounts

	mu             sync.Mutex
	tasks          map[string]*state
	lateWatches    map[string]record // the watches for late acts, by thread
	next           uint64            // number of the next report
	isNew          bool
	unclean        []string
	unwritten      bool // memory has records that the disk lacks
	damage         []wal.Damage
	processes      []string // the last processes that have written it
	noProcessKnown bool     // no names existed before this run
	ledger         Ledger
	hasLedger      bool // the journal has a ledger
}

type state struct {
	Task
	asked, intent, done *record // the original records
	order               uint64  // position of its report among the reports
}

// Open opens the journal in dir with DefaultOptions and creates it if needed.
func Open(dir string) (*Journal, error) { return DefaultOptions().Open(dir) }

// Open opens the journal in dir and creates it if needed. Close it after use.
func (o Options) Open(dir string) (*Journal, error) {
	j := &Journal{dir: dir, opts: o, now: o.Now, tasks: map[string]*state{}, lateWatches: map[string]record{}, isNew: true}
	log, err := j.open(j.replay, &j.damage)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j.log, j.crashCounts = log, openCrashCounts(dir)
	if j.hasGaps() {
		j.ledger.Gap = j.stamp()
	}
	switch {
	case j.isNew:
		err = j.append(context.Background(), record{Kind: kindBegun, At: j.stamp()})
	case j.hasGaps():
		_ = j.compact(context.Background()) // if this fails, the next start finds the same damage
	}
	if err != nil {
		return nil, errors.Join(err, log.Close(), j.crashCounts.close())
	}
	for _, s := range j.sorted() {
		if s.Open() {
			j.unclean = append(j.unclean, s.Ref)
		}
	}
	return j, nil
}

// open opens the log. It appends the damage that it finds to damage; if damage is nil, damage
// is an error.
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
	j.isNew = false
	j.apply(r, report)
	return nil
}

// IsNew reports whether the journal had no records before Open, or lost some to damage. It then
// does not know all acts of the executor.
func (j *Journal) IsNew() bool { return j.isNew || j.hasGaps() }

// Damage lists the damage that Open found.
func (j *Journal) Damage() []wal.Damage { return slices.Clone(j.damage) }

// hasGaps reports whether damage has lost records.
func (j *Journal) hasGaps() bool {
	return slices.ContainsFunc(j.damage, func(d wal.Damage) bool { return !d.Repaired })
}

// OpenAtStart lists the threads that were open when Open read the journal: the last run of the
// program died during them.
func (j *Journal) OpenAtStart() []string { return slices.Clone(j.unclean) }

// Written returns the bytes written to the disk since Open, in total and today. After Repair,
// today begins anew.
func (j *Journal) Written() (total, today int64) {
	j.write.RLock()
	defer j.write.RUnlock()
	if j.log != nil {
		total, today = j.log.Written()
	}
	return j.writtenBefore + total, today
}

// Close closes the journal and releases its folder.
func (j *Journal) Close() error {
	j.write.Lock()
	defer j.write.Unlock()
	err := j.crashCounts.close()
	if j.log == nil {
		j.openErr = fmt.Errorf("journal: %w", wal.ErrClosed)
		return err
	}
	return errors.Join(err, j.log.Close())
}

// Intent writes an intent, with notes in the same sync. The executor may act only after it
// returns nil.
func (j *Journal) Intent(ctx context.Context, i Intent, notes ...LedgerEntry) error {
	records, err := j.appendEntries([]record{{Kind: kindIntent, Intent: &i}}, notes)
	if err != nil {
		return err
	}
	return j.writeRecords(ctx, nil, false, records...) // an intent that is not on the disk permits nothing
}

// RecordQuestion writes a question to a requester. The executor waits for the answer until an Intent, a
// Done or Sent. After an error the question stays in memory until the program ends.
func (j *Journal) RecordQuestion(ctx context.Context, a Question) error {
	return j.writeOrKeep(ctx, record{Kind: kindAsked, Asked: &a}, nil)
}

// RecordFound writes that the run boot has found a thread open and will finish it. A thread that a
// later run finds open once more has crashed the program again.
func (j *Journal) RecordFound(ctx context.Context, ref, boot string) error {
	return j.writeOrKeep(ctx, record{Kind: kindFound, Ref: ref, Boot: boot}, nil)
}

// Done writes the final report of a thread, in place of an earlier one, and keeps it until
// Sent. After an error it stays in memory alone, until Repair.
func (j *Journal) Done(ctx context.Context, ref string, epoch uint64, report mess.Message) error {
	data, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("journal: report on %s: %w", ref, err)
	}
	return j.writeOrKeep(ctx, record{Kind: kindDone, Ref: ref, Epoch: epoch, Report: data}, &report)
}

// Sent writes that the exchange has taken the report of a thread, has rejected it permanently,
// or needs none. The journal then drops the thread, even after an error; the next program that
// opens the journal may then send the report again.
func (j *Journal) Sent(ctx context.Context, ref string) error {
	if _, ok := j.Task(ref); !ok {
		return nil
	}
	if err := j.writeOrKeep(ctx, record{Kind: kindSent, Ref: ref}, nil); err != nil && !errors.Is(err, wal.ErrFull) {
		return err
	}
	return j.compactIfNeeded(ctx)
}

// LateWatch is a watch for late acts, after the commands of a thread.
type LateWatch struct {
	Ref   string
	Epoch uint64
	At    time.Time       // time of the record
	Data  json.RawMessage // the data with which a later run continues the watch
}

// WatchLate writes that the agent watches the devices of a thread's commands for late acts. A later
// run continues the watch with memo; nil ends it. The watch outlives the thread and replaces
// the previous one.
func (j *Journal) WatchLate(ctx context.Context, ref string, epoch uint64, data json.RawMessage) error {
	return j.writeOrKeep(ctx, record{Kind: kindLate, Ref: ref, Epoch: epoch, Late: data}, nil)
}

// LateWatches returns the unfinished watches, sorted by thread.
func (j *Journal) LateWatches() (list []LateWatch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, ref := range slices.Sorted(maps.Keys(j.lateWatches)) {
		r := j.lateWatches[ref]
		list = append(list, LateWatch{Ref: ref, Epoch: r.Epoch, At: r.At, Data: r.Late})
	}
	return list
}

// Task returns the state of one thread.
func (j *Journal) Task(ref string) (Task, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.tasks[ref]
	if s == nil {
		return Task{}, false
	}
	return s.Task, true
}

// Tasks returns all unfinished threads: first those without a report, sorted by ref, then the
// others in the order of their reports.
func (j *Journal) Tasks() []Task {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Task
	for _, s := range j.sorted() {
		list = append(list, s.Task)
	}
	return list
}

// sorted returns the states in the order of Tasks. The caller holds mu.
func (j *Journal) sorted() []*state {
	return slices.SortedFunc(maps.Values(j.tasks), func(a, b *state) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Ref, b.Ref))
	})
}
