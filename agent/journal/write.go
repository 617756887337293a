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

// permit writes a record and believes it then: without it on the disk, nothing
// may be done.
func (j *Journal) permit(ctx context.Context, r record) error {
	return j.note(ctx, r, nil, false)
}

// tell writes a record and believes it in any case: what was done is true
// whether or not the disk takes it. What the disk has not taken is written when
// it can be written again, and is lost if the program ends before.
func (j *Journal) tell(ctx context.Context, r record, report *mess.Message) error {
	return j.note(ctx, r, report, true)
}

// note writes a record, and takes it into memory if it was written, or anyway.
// A full journal is compacted first.
func (j *Journal) note(ctx context.Context, r record, report *mess.Message, anyway bool) error {
	r.At = j.stamp()
	err := j.noteOnce(ctx, r, report)
	if errors.Is(err, wal.ErrFull) && r.Kind != kindSent {
		if err = j.compact(ctx); err == nil {
			err = j.noteOnce(ctx, r, report)
		}
	}
	if err == nil || !anyway {
		return err
	}
	j.write.RLock()
	defer j.write.RUnlock()
	j.believe(r, report, true)
	return err
}

func (j *Journal) noteOnce(ctx context.Context, r record, report *mess.Message) error {
	j.write.RLock()
	defer j.write.RUnlock()
	if err := j.append(ctx, r); err != nil {
		return err
	}
	j.believe(r, report, false)
	return nil
}

// believe takes a record into memory. write is held.
func (j *Journal) believe(r record, report *mess.Message, unwritten bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.apply(r, report)
	j.behind = j.behind || unwritten
}

// append writes a record to the log. write is held.
func (j *Journal) append(ctx context.Context, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if j.log == nil {
		return j.lost
	}
	if err := j.log.Append(ctx, data); err != nil {
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
	n := 0
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
