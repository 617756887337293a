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
	subject := s.threadSubject(ref)
	r := s.recent.get(ref)
	for {
		m, err := s.getMsg(ctx, r.seq+1, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return thread.Thread{}, "", err
		}
		record, err := s.record(ctx, m.Header, m.Data)
		if err != nil {
			return thread.Thread{}, "", fmt.Errorf("%s: sequence %d: %w", ref, m.Sequence, err)
		}
		if err := r.add(m.Sequence, record); err != nil {
			return thread.Thread{}, "", fmt.Errorf("%s: sequence %d: %w", ref, m.Sequence, err)
		}
	}
	if r.seq == 0 {
		return thread.Thread{}, "", thread.ErrNoThread
	}
	s.recent.put(ref, r)
	return thread.Thread{Envelope: r.envelope.Clone(), Messages: slices.Clone(r.messages)}, revOf(r.seq), nil
}

// Envelope reads the envelope of a thread.
func (s *Store) Envelope(ctx context.Context, ref string) (e thread.Envelope, err error) {
	m, err := s.lastMsg(ctx, s.threadSubject(ref))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return e, thread.ErrNoThread
	}
	if err != nil {
		return e, err
	}
	record, err := s.record(ctx, m.Header, m.Data)
	if err == nil {
		err = json.Unmarshal(record.Envelope, &e)
	}
	return e, err
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
		return logformat.Record{}, err
	} else if n > s.newest {
		return logformat.Record{}, &FormatError{n, s.newest}
	}
	if sum := h.Get(bodyHeader); sum != "" {
		var err error
		if data, err = s.getBlob(ctx, sum); err != nil {
			return logformat.Record{}, err
		}
	}
	return logformat.Decode(data)
}

// decodeStep decodes the envelope and the messages of a record.
func decodeStep(r logformat.Record) (e thread.Envelope, messages []mess.Message, err error) {
	if !r.HasEnvelope() {
		return e, nil, errors.New("it is no step of a thread")
	}
	if err := json.Unmarshal(r.Envelope, &e); err != nil {
		return e, nil, fmt.Errorf("envelope: %w", err)
	}
	for i, line := range r.Messages {
		var m mess.Message
		if err := json.Unmarshal(line, &m); err != nil {
			return e, nil, fmt.Errorf("message %d: %w", i, err)
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
}

// add adds a step.
func (r *readThread) add(seq uint64, record logformat.Record) error {
	e, messages, err := decodeStep(record)
	if err != nil {
		return err
	}
	r.seq, r.envelope, r.messages = seq, e, append(slices.Clip(r.messages), messages...)
	return nil
}

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
