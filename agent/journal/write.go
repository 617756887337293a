package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// stamp returns the time for a new record.
func (j *Journal) stamp() time.Time { return j.now().UTC().Truncate(time.Millisecond) }

// writeOrKeep writes a record and keeps it in memory even after an error, because the fact is true
// without the disk. The journal writes it again when the disk works, and loses it if the
// program ends before.
func (j *Journal) writeOrKeep(ctx context.Context, r record, report *mess.Message) error {
	return j.writeRecords(ctx, report, true, r)
}

// writeRecords writes all records or none, in one sync. It adds them to memory after a successful
// write, and after an error too if anyway is set. It compacts a full journal first. report
// belongs to the only record.
func (j *Journal) writeRecords(ctx context.Context, report *mess.Message, anyway bool, records ...record) error {
	for i := range records {
		records[i].At = j.stamp()
	}
	err := j.tryWriteRecords(ctx, report, records)
	if errors.Is(err, wal.ErrFull) && records[0].Kind != kindSent {
		if err = j.compact(ctx); err == nil {
			err = j.tryWriteRecords(ctx, report, records)
		}
	}
	if err == nil || !anyway {
		return err
	}
	j.write.RLock()
	defer j.write.RUnlock()
	j.applyAll(report, true, records)
	return err
}

func (j *Journal) tryWriteRecords(ctx context.Context, report *mess.Message, records []record) error {
	j.write.RLock()
	defer j.write.RUnlock()
	if err := j.append(ctx, records...); err != nil {
		return err
	}
	j.applyAll(report, false, records)
	return nil
}

// applyAll adds records to memory. The caller holds write.
func (j *Journal) applyAll(report *mess.Message, unwritten bool, records []record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range records {
		j.apply(r, report)
	}
	j.unwritten = j.unwritten || unwritten
}

// append writes records to the log. The caller holds write.
func (j *Journal) append(ctx context.Context, records ...record) error {
	lines := make([][]byte, len(records))
	for i, r := range records {
		var err error
		if lines[i], err = json.Marshal(r); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if j.log == nil {
		return j.openErr
	}
	if err := j.log.Append(ctx, lines...); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// compactIfNeeded compacts the journal when most of it is obsolete, or when the disk lacks records.
func (j *Journal) compactIfNeeded(ctx context.Context) error {
	live, behind := j.liveSize()
	if size := j.Size(); !behind && (size < compactBytes || size < 2*live) {
		return nil
	}
	return j.compact(ctx)
}

// liveSize returns the size of the data for unfinished threads, in bytes, and whether the disk
// lacks records.
func (j *Journal) liveSize() (bytes int64, behind bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := int(j.ledger.bytes())
	for _, s := range j.tasks {
		if s.done != nil {
			n += len(s.done.Report)
		}
		if s.Intent != nil {
			n += len(s.Intent.Plan)
		}
		if s.Question != nil {
			n += len(s.Question.Data)
		}
	}
	for _, r := range j.lateWatches {
		n += len(r.Late)
	}
	return int64(n), j.unwritten
}

// compact reduces the journal to the current state.
func (j *Journal) compact(ctx context.Context) error {
	j.write.Lock() // the copy would miss a concurrent record
	defer j.write.Unlock()
	if j.log == nil {
		return j.openErr
	}
	return j.rewrite(ctx, j.log)
}

// rewrite writes the current state to a new segment of a log. The caller holds write for
// writing.
func (j *Journal) rewrite(ctx context.Context, log *wal.Log) error {
	records, err := j.records()
	if err == nil {
		err = log.Compact(ctx, slices.Values(records))
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unwritten = false
	return nil
}
