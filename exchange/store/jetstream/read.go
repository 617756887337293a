package jetstream

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Read reads a thread. Steps do not change, so it asks the stream only for those after the ones that
// it has read before.
func (s *Store) Read(ctx context.Context, ref string) (thread.Thread, thread.Rev, error) {
	r, err := s.readSteps(ctx, ref, s.recent.get(ref), func(logformat.Record) {})
	bad, isDamaged := errors.AsType[*recordError](err)
	switch {
	case isDamaged && r.seq > 0 && r.gone == nil:
		return damaged(r, bad.seq, bad.at), damagedRev, nil
	case err != nil && !isDamaged:
		return thread.Thread{}, "", err
	case r.seq == 0 || r.gone != nil: // a record that nobody can read hides no archive
		t, failed := s.readArchived(ctx, ref)
		if !isDamaged || failed == nil || r.gone != nil || !errors.Is(failed, thread.ErrNoThread) {
			err = failed
		}
		if err == nil && r.gone != nil {
			t.Ver = max(t.Ver, r.gone.Ver)
		}
		return t, archivedRev, err
	}
	s.recent.put(ref, r)
	return thread.Thread{Envelope: r.envelope.Clone(), Messages: slices.Clone(r.messages)}, revOf(r.seq), nil
}

// readSteps reads the steps of a thread after those in r. It calls fn with each.
func (s *Store) readSteps(ctx context.Context, ref string, r readThread, fn func(logformat.Record)) (readThread, error) {
	r, err := s.readSubject(ctx, s.threadSubject(ref), r, fn)
	if err != nil {
		err = fmt.Errorf("%s: %w", ref, err)
	}
	return r, err
}

// readSubject reads the steps of a thread by its subject. The error is a *recordError if it cannot read one.
func (s *Store) readSubject(ctx context.Context, subject string, r readThread, fn func(logformat.Record)) (readThread, error) {
	for {
		m, err := s.getMsg(ctx, r.seq+1, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		record, err := s.record(ctx, m.Header, m.Data)
		if err == nil {
			err = s.addTo(&r, m, record)
		}
		if isUnreadable(err) {
			return r, &recordError{m.Sequence, m.Time, err}
		}
		if err != nil {
			return r, fmt.Errorf("sequence %d: %w", m.Sequence, err)
		}
		fn(record)
	}
}

// Envelope reads the envelope of a thread.
func (s *Store) Envelope(ctx context.Context, ref string) (e thread.Envelope, err error) {
	subject := s.threadSubject(ref)
	m, err := s.lastMsg(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		t, err := s.readArchived(ctx, ref)
		return t.Envelope, err
	case err != nil:
		return e, err
	}
	record, err := s.record(ctx, m.Header, m.Data)
	if err != nil && !isUnreadable(err) {
		return e, err
	}
	if err != nil || !record.HasEnvelope() || s.isDamaged(subject, m.Sequence) || json.Unmarshal(record.Envelope, &e) != nil {
		t, _, err := s.Read(ctx, ref) // it has gone, or is damaged
		return t.Envelope, err
	}
	return e, nil
}

// Lookup returns the thread that has claimed a key.
func (s *Store) Lookup(ctx context.Context, k thread.Key) (string, error) {
	m, err := s.lastMsg(ctx, s.keySubject(k))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return "", thread.ErrNoThread
	}
	if err != nil {
		return "", err
	}
	return string(m.Data), nil
}

// getMsg reads the first message of a subject from a sequence on, at the leader of the stream.
func (s *Store) getMsg(ctx context.Context, seq uint64, subject string) (*jetstream.RawStreamMsg, error) {
	return retryRead(ctx, s, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
	})
}

// lastMsg reads the last message of a subject, at the leader of the stream.
func (s *Store) lastMsg(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return retryRead(ctx, s, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.stream.GetLastMsgForSubject(ctx, subject)
	})
}

// record decodes a message of the stream. It returns a *FormatError for one of a later release.
func (s *Store) record(ctx context.Context, h nats.Header, data []byte) (logformat.Record, error) {
	if n, err := formatOf(h); err != nil {
		return logformat.Record{}, unreadable(err)
	} else if n > s.newest {
		if _, err := s.loadFormat(ctx); err != nil { // the message that raises it comes before
			return logformat.Record{}, err
		}
		return logformat.Record{}, unreadable(fmt.Errorf("the header %s: the stream has no format %d", formatHeader, n))
	}
	if sum := h.Get(bodyHeader); sum != "" {
		var err error
		if data, err = s.getBlob(ctx, sum); errors.Is(err, thread.ErrNoBlob) || errors.Is(err, errOtherBytes) {
			return logformat.Record{}, unreadable(err)
		} else if err != nil {
			return logformat.Record{}, err
		}
	}
	r, err := logformat.Decode(data)
	if err != nil { // the error has a part of the data, which can be a secret of another program
		return r, unreadable(fmt.Errorf("its %d bytes are no record", len(data)))
	}
	return r, nil
}

// unreadableError is about a record that no later try reads.
type unreadableError struct{ error }

func (e *unreadableError) Unwrap() error { return e.error }

// unreadable marks an error as one about an unreadable record.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return &unreadableError{err}
}

// isUnreadable reports whether an error is about an unreadable record.
func isUnreadable(err error) bool {
	_, is := errors.AsType[*unreadableError](err)
	return is
}

// decodeStep decodes the envelope and the messages of a record.
func decodeStep(r logformat.Record) (e thread.Envelope, messages []mess.Message, err error) {
	if !r.HasEnvelope() {
		return e, nil, unreadable(errors.New("it is no step of a thread"))
	}
	if err := json.Unmarshal(r.Envelope, &e); err != nil {
		return e, nil, unreadable(fmt.Errorf("envelope: %w", err))
	}
	for i, line := range r.Messages {
		var m mess.Message
		if err := json.Unmarshal(line, &m); err != nil {
			return e, nil, unreadable(fmt.Errorf("message %d: %w", i, err))
		}
		messages = append(messages, m)
	}
	return e, messages, nil
}

// readThread is a thread up to a sequence.
type readThread struct {
	seq      uint64
	envelope thread.Envelope
	messages []mess.Message
	gone     *logformat.Summary // the thread has gone into an archive
}

// addTo adds a step to a thread. It returns an error for a step of another thread.
func (s *Store) addTo(r *readThread, m *jetstream.RawStreamMsg, record logformat.Record) error {
	if goneRecord(record) && s.threadSubject(record.Gone) == m.Subject {
		sum := logformat.SummaryOf(outlineOf(record).Envelope)
		*r = readThread{seq: m.Sequence, gone: &sum}
		return nil
	}
	e, messages, err := decodeStep(record)
	if err == nil && s.threadSubject(e.Ref) != m.Subject {
		err = errOtherThread
	}
	if err != nil {
		return err
	}
	r.seq, r.envelope, r.messages = m.Sequence, e, append(slices.Clip(r.messages), messages...)
	return nil
}

// errOtherThread is the error for a record under a subject that is not its own.
var errOtherThread = unreadable(errors.New("it is about another thread or document than its subject"))

// maxRecent is the number of threads whose steps a store keeps after a Read.
const maxRecent = 128

// recentThreads keeps the threads that Read has read last.
type recentThreads struct {
	mu    sync.Mutex
	order list.List // of *recentThread, the last used one first
	byRef map[string]*list.Element
}

type recentThread struct {
	ref string
	readThread
}

// get returns what the store has read of a thread.
func (c *recentThreads) get(ref string) readThread {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byRef[ref]
	if e == nil {
		return readThread{}
	}
	c.order.MoveToFront(e)
	return e.Value.(*recentThread).readThread
}

// put records what the store has read of a thread.
func (c *recentThreads) put(ref string, r readThread) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byRef[ref]; e != nil {
		if one := e.Value.(*recentThread); one.seq < r.seq {
			one.readThread = r
		}
		return
	}
	if c.byRef == nil {
		c.byRef = map[string]*list.Element{}
	}
	c.byRef[ref] = c.order.PushFront(&recentThread{ref, r})
	if last := c.order.Back(); c.order.Len() > maxRecent {
		delete(c.byRef, c.order.Remove(last).(*recentThread).ref)
	}
}

// drop forgets a thread that has left the stream.
func (c *recentThreads) drop(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byRef[ref]; e != nil {
		c.order.Remove(e)
		delete(c.byRef, ref)
	}
}
