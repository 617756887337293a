package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

// LoggedRefs returns the refs of the threads in the log of a data folder, without those that have
// ended and that their folders have. The exchange may not have written the folders of these threads
// yet. LoggedRefs changes nothing, and works while an exchange runs there.
func LoggedRefs(dir string) ([]string, error) {
	refs := map[string]bool{}
	_, err := wal.Read(filepath.Join(dir, "log"), func(one wal.Record) error {
		if format, ok := logformat.FormatOf(one.Data); ok {
			return logformat.TooNew(format)
		}
		r, _, err := logformat.DecodeHead(one.Data)
		switch {
		case err != nil:
			return fmt.Errorf("cannot read a record of the exchange's log: %w", err)
		case r.Gone != "":
			delete(refs, r.Gone)
		case r.Ended != nil:
			delete(refs, r.Ended.Ref)
		case r.ThreadRef() != "":
			refs[r.ThreadRef()] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(refs)), err
}

// read reads a thread from the log; false if the log does not have the whole thread.
func (s *Store) read(ref string) (w loadedThread, ok bool, err error) {
	err = s.retryMoved(func() error {
		k, known := s.index.thread(ref)
		if ok = known && k.inLog(); !ok {
			return nil
		}
		w, err = s.readWhole(k)
		return err
	})
	return w, ok, err
}

// retryMoved calls fn again if a compaction has just moved its records, three times at most.
func (s *Store) retryMoved(fn func() error) (err error) {
	for range 3 {
		if err = fn(); !errors.Is(err, wal.ErrMoved) {
			break
		}
	}
	return err
}

// readWhole reads all records of a thread.
func (s *Store) readWhole(k threadState) (loadedThread, error) {
	raw, err := s.readRaw(&k)
	if err != nil {
		return loadedThread{}, err
	}
	w := loadedThread{messages: raw.Messages, binds: k.binds, folder: k.folder, as: k.state()}
	for _, p := range k.records {
		w.bytes += p.Size()
	}
	if err := logformat.Parse(raw.Envelope, &w.env); err != nil {
		return loadedThread{}, fmt.Errorf("%s: envelope: %w", k.Ref, err)
	}
	return w, nil
}

// readRaw reads all records of a thread and joins them into one.
func (s *Store) readRaw(k *threadState) (logformat.Record, error) {
	all := logformat.Record{Thread: &k.Summary}
	for i, p := range k.records {
		r, err := s.readRecord(k.Ref, p)
		if err != nil {
			return logformat.Record{}, err
		}
		if i == k.newest {
			all.Envelope = r.Envelope
		}
		all.Messages = append(all.Messages, r.Messages...)
	}
	return all, nil
}

func (s *Store) readRecord(ref string, p wal.Place) (logformat.Record, error) {
	data, err := s.log.Record(p)
	if err != nil {
		return logformat.Record{}, err
	}
	r, err := logformat.Decode(data)
	if err != nil {
		return logformat.Record{}, fmt.Errorf("%s: a record of it in the log: %w", ref, err)
	}
	return r, nil
}

// envelope returns the envelope of a thread. It is zero if the store does not have the thread.
func (s *Store) envelope(ref string) (e thread.Envelope, err error) {
	err = s.readEnvelope(ref, &e, new([]byte))
	return e, err
}

// readEnvelope reads the envelope of a thread into e, which is zero. It uses and enlarges the buffer.
func (s *Store) readEnvelope(ref string, e *thread.Envelope, buffer *[]byte) error {
	if t, _, ok := s.recent.get(ref, s.index.state(ref)); ok {
		*e = t.Envelope
		return nil
	}
	var k threadState
	err := s.retryMoved(func() error {
		if k, _ = s.index.thread(ref); !k.inLog() {
			return nil
		}
		data, err := s.log.AppendRecord((*buffer)[:0], k.records[k.newest])
		if err != nil {
			return err
		}
		*buffer = data
		if err := logformat.Parse(logformat.EnvelopeIn(data), e); err != nil {
			return fmt.Errorf("%s: envelope: %w", ref, err)
		}
		return nil
	})
	if err == nil && k.Ref != "" && !k.inLog() {
		*e = s.endedEnvelope(k.Summary)
	}
	return err
}

// loadedThread is a thread from the log with its attachments and folder.
type loadedThread struct {
	env      thread.Envelope
	messages []json.RawMessage
	binds    map[string]string // bound name to SHA-256
	folder   folder            // last known state
	as       state
	bytes    int // size in the log
}

// decode returns the thread with its messages.
func (w loadedThread) decode() (thread.Thread, error) {
	t := thread.Thread{Envelope: w.env, Messages: make([]mess.Message, len(w.messages))}
	for i, m := range w.messages {
		if err := json.Unmarshal(m, &t.Messages[i]); err != nil {
			return thread.Thread{}, fmt.Errorf("%s: message %d: %w", w.env.Ref, i, err)
		}
	}
	return t, nil
}
