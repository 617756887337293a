package logformat

import (
	"bytes"
	"encoding/json"
	"errors"

	quick "github.com/segmentio/encoding/json"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Record is one record of the log: a whole thread, a step, further messages, the end of a
// thread, or a document. Its first line is JSON without the contents, so that the start need not
// decode the rest. A thread or step has a line with the envelope next. Each message has a line
// of its own.
type Record struct {
	Thread *Summary       `json:"thread,omitempty"` // of a whole thread
	Step   *Summary       `json:"step,omitempty"`   // of a thread after a step
	Ref    string         `json:"ref,omitempty"`    // of the thread that has more messages
	Binds  []thread.Bind  `json:"binds,omitempty"`
	Ended  *Summary       `json:"ended,omitempty"` // its folder has it
	Gone   string         `json:"gone,omitempty"`  // ref of a forgotten thread
	Kind   string         `json:"kind,omitempty"`  // of a document
	ID     string         `json:"id,omitempty"`
	Doc    []byte         `json:"doc,omitempty"`  // nil removes it
	Days   map[string]int `json:"days,omitempty"` // the highest serials
	Seq    uint64         `json:"n,omitempty"`    // of the change, in a compacted log; else each record is the next change

	Envelope json.RawMessage   `json:"-"`
	Messages []json.RawMessage `json:"-"`
	Change   *thread.Step      `json:"-"` // of the record, during Append
}

// HasEnvelope reports whether a line with the envelope follows.
func (r Record) HasEnvelope() bool { return r.Thread != nil || r.Step != nil }

// Encode returns the record in the form of the log.
func (r Record) Encode() ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(head)
	for _, line := range r.lines() {
		b.WriteByte('\n')
		if bytes.IndexByte(line, '\n') < 0 {
			b.Write(line)
		} else if err := json.Compact(b, line); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func (r Record) lines() []json.RawMessage {
	if !r.HasEnvelope() {
		return r.Messages
	}
	return append([]json.RawMessage{r.Envelope}, r.Messages...)
}

// DecodeHead decodes the first line of a record.
func DecodeHead(data []byte) (r Record, rest []byte, err error) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	err = Parse(line, &r)
	return r, rest, err
}

// Parse decodes a line that encoding/json has written to the log. A start decodes two lines of each
// open thread, and encoding/json takes three to five times as long for them.
func Parse(line []byte, v any) error { return quick.Unmarshal(line, v) }

// Decode reads a whole record. Its envelope and messages are parts of data.
func Decode(data []byte) (Record, error) {
	r, rest, err := DecodeHead(data)
	if err != nil {
		return r, err
	}
	if r.HasEnvelope() {
		r.Envelope, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(r.Envelope) == 0 {
			return r, errors.New("it has no envelope")
		}
	}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		r.Messages = append(r.Messages, line)
	}
	return r, nil
}

// EnvelopeIn returns the line with the envelope.
func EnvelopeIn(data []byte) []byte {
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return line
}

// OfThread returns a whole thread as a record.
func OfThread(t thread.Thread) (Record, error) {
	sum := SummaryOf(t.Envelope)
	r := Record{Thread: &sum}
	return r, r.put(t.Envelope, t.Messages)
}

// OfStep returns a step as a record.
func OfStep(s thread.Step) (Record, error) {
	sum := SummaryOf(s.Envelope)
	sum.Keys = ExtraKeys(s)
	r := Record{Binds: s.Binds, Change: &s}
	if s.After == "" {
		r.Thread = &sum
	} else {
		r.Step = &sum
	}
	return r, r.put(s.Envelope, s.Messages)
}

func (r *Record) put(e thread.Envelope, messages []mess.Message) (err error) {
	if r.Envelope, err = json.Marshal(e); err != nil {
		return err
	}
	r.Messages = make([]json.RawMessage, len(messages))
	for i, m := range messages {
		if r.Messages[i], err = m.JSON(); err != nil {
			return err
		}
	}
	return nil
}

// PartBytes limits the messages of one record of a thread that is written as a whole, in bytes of
// JSON, so that each record fits into the log. A single message has at most 10 MB.
const PartBytes = 1 << 20

// Parts splits a whole thread into records of at most size bytes of messages.
func (r Record) Parts(size int, put func(Record)) {
	ref, messages, n := r.Thread.Ref, r.Messages, 0
	r.Messages = nil
	for _, m := range messages {
		if n > 0 && n+len(m) > size {
			put(r)
			r, n = Record{Ref: ref}, 0
		}
		r.Messages, n = append(r.Messages, m), n+len(m)
	}
	put(r)
}

// ThreadRef returns the ref of the thread of a record, or "" for a record that has none.
func (r Record) ThreadRef() string {
	switch {
	case r.Thread != nil:
		return r.Thread.Ref
	case r.Step != nil:
		return r.Step.Ref
	}
	return r.Ref
}
