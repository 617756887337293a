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

// stamp is the time that a record bears.
func (j *Journal) stamp() time.Time { return j.now().UTC().Truncate(time.Millisecond) }

// tell writes a record and believes it in any case: what was done is true
// whether or not the disk takes it. What the disk has not taken is written when
// it can be written again, and is lost if the program ends before.
func (j *Journal) tell(ctx context.Context, r record, report *mess.Message) error {
	return j.note(ctx, report, true, r)
}

// note writes records, all of them or none, in one sync. It takes them into memory if they
// were written, or anyway. A full journal is compacted first. report is that of the only
// record.
func (j *Journal) note(ctx context.Context, report *mess.Message, anyway bool, records ...record) error {
	for i := range records {
		records[i].At = j.stamp()
	}
	err := j.noteOnce(ctx, report, records)
	if errors.Is(err, wal.ErrFull) && records[0].Kind != kindSent {
		if err = j.compact(ctx); err == nil {
			err = j.noteOnce(ctx, report, records)
		}
	}
	if err == nil || !anyway {
		return err
	}
	j.write.RLock()
	defer j.write.RUnlock()
	j.believe(report, true, records)
	return err
}

func (j *Journal) noteOnce(ctx context.Context, report *mess.Message, records []record) error {
	j.write.RLock()
	defer j.write.RUnlock()
	if err := j.append(ctx, records...); err != nil {
		return err
	}
	j.believe(report, false, records)
	return nil
}

// believe takes records into memory. write is held.
func (j *Journal) believe(report *mess.Message, unwritten bool, records []record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range records {
		j.apply(r, report)
	}
	j.behind = j.behind || unwritten
}

// append writes records to the log. write is held.
func (j *Journal) append(ctx context.Context, records ...record) error {
	lines := make([][]byte, len(records))
	for i, r := range records {
		var err error
		if lines[i], err = json.Marshal(r); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if j.log == nil {
		return j.lost
	}
	if err := j.log.Append(ctx, lines...); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// tidy compacts the journal when little of it still matters, or when not all
// that is known is in it.
func (j *Journal) tidy(ctx context.Context) error {
	live, behind := j.live()
	if size := j.Size(); !behind && (size < compactBytes || size < 2*live) {
		return nil
	}
	return j.compact(ctx)
}

// live is the size of what is still to be told or settled, in bytes, and
// whether the disk lacks something of what is known.
func (j *Journal) live() (bytes int64, behind bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := int(j.book.bytes())
	for _, s := range j.tasks {
		if s.done != nil {
			n += len(s.done.Report)
		}
		if s.Intent != nil {
			n += len(s.Intent.Plan)
		}
		if s.Asked != nil {
			n += len(s.Asked.Memo)
		}
	}
	for _, r := range j.lates {
		n += len(r.Late)
	}
	return int64(n), j.behind
}

// compact leaves in the journal only what is known now.
func (j *Journal) compact(ctx context.Context) error {
	j.write.Lock() // nothing may be written that the copy would miss
	defer j.write.Unlock()
	if j.log == nil {
		return j.lost
	}
	return j.rewrite(ctx, j.log)
}

// rewrite writes all that is known to a new segment of a log. write is held for
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
	j.behind = false
	return nil
}
