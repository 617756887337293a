package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// record is one line of the journal, as JSON.
type record struct {
	Kind   string          `json:"kind"`
	Intent *Intent         `json:"intent,omitempty"`
	Begun  int             `json:"begun,omitempty"` // intent, in a compacted journal: how many there were
	Ref    string          `json:"ref,omitempty"`
	Epoch  uint64          `json:"epoch,omitempty"`
	Report json.RawMessage `json:"report,omitempty"`
}

// The kinds of record.
const (
	kindBegun  = "begun" // the journal exists
	kindIntent = "intent"
	kindDone   = "done"
	kindSent   = "sent"
)

func (j *Journal) replay(data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	j.fresh = false
	return j.apply(r)
}

// note writes a record and then believes it. A full journal is compacted first;
// to forget a thread takes no room.
func (j *Journal) note(ctx context.Context, r record) error {
	err := j.noteOnce(ctx, r)
	if !errors.Is(err, wal.ErrFull) {
		return err
	}
	if r.Kind == kindSent {
		return errors.Join(j.apply(r), j.compact(ctx))
	}
	if err := j.compact(ctx); err != nil {
		return err
	}
	return j.noteOnce(ctx, r)
}

func (j *Journal) noteOnce(ctx context.Context, r record) error {
	j.write.RLock()
	defer j.write.RUnlock()
	if err := j.append(ctx, r); err != nil {
		return err
	}
	return j.apply(r)
}

func (j *Journal) append(ctx context.Context, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.log.Append(ctx, data); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// apply takes a record into memory. The same record again changes nothing that
// matters, except that an intent counts.
func (j *Journal) apply(r record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch r.Kind {
	case kindBegun:
		return nil
	case kindIntent:
		return j.applyIntent(r)
	case kindDone:
		return j.applyDone(r)
	case kindSent:
		delete(j.tasks, r.Ref)
		return nil
	}
	return fmt.Errorf("unknown kind of record %q; a newer program has written it", r.Kind)
}

func (j *Journal) applyIntent(r record) error {
	if r.Intent == nil || r.Intent.Ref == "" {
		return fmt.Errorf("an intent without a thread")
	}
	s := j.state(r.Intent.Ref)
	s.Intent, s.Epoch, s.Report, s.report, s.order = r.Intent, r.Intent.Epoch, nil, nil, 0
	s.Begun += max(1, r.Begun)
	return nil
}

func (j *Journal) applyDone(r record) error {
	var m mess.Message
	if err := json.Unmarshal(r.Report, &m); err != nil {
		return fmt.Errorf("report on %q: %w", r.Ref, err)
	}
	s := j.state(r.Ref)
	j.next++
	s.Epoch, s.Report, s.report, s.order = r.Epoch, &m, r.Report, j.next
	return nil
}

func (j *Journal) state(ref string) *state {
	s := j.tasks[ref]
	if s == nil {
		s = &state{Task: Task{Ref: ref}}
		j.tasks[ref] = s
	}
	return s
}

// tidy compacts the journal when little of it still matters.
func (j *Journal) tidy(ctx context.Context) error {
	if size := j.log.Size(); size < compactBytes || size < 2*j.live() {
		return nil
	}
	return j.compact(ctx)
}

// live is the size of the reports that are still to be sent, in bytes.
func (j *Journal) live() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, s := range j.tasks {
		n += len(s.report)
	}
	return int64(n)
}

// compact leaves in the journal only what is known now.
func (j *Journal) compact(ctx context.Context) error {
	j.write.Lock() // nothing may be written that the copy would miss
	defer j.write.Unlock()
	records, err := j.records()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.log.Compact(ctx, slices.Values(records)); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// records are the fewest records that say what is known.
func (j *Journal) records() ([][]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := []record{{Kind: kindBegun}}
	for _, s := range j.sorted() {
		if s.Intent != nil {
			list = append(list, record{Kind: kindIntent, Intent: s.Intent, Begun: s.Begun})
		}
		if s.report != nil {
			list = append(list, record{Kind: kindDone, Ref: s.Ref, Epoch: s.Epoch, Report: s.report})
		}
	}
	lines := make([][]byte, len(list))
	for i, r := range list {
		var err error
		if lines[i], err = json.Marshal(r); err != nil {
			return nil, err
		}
	}
	return lines, nil
}
