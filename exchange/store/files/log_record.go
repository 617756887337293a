package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	quick "github.com/segmentio/encoding/json"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// record is one record of the log: a whole thread, a step, further messages, the end of a
// thread, or a document. Its first line is JSON without the contents, so that the start need not
// decode the rest. A thread or step has a line with the envelope next. Each message has a line
// of its own.
type record struct {
	Thread *summary       `json:"thread,omitempty"` // of a whole thread
	Step   *summary       `json:"step,omitempty"`   // of a thread after a step
	Ref    string         `json:"ref,omitempty"`    // of the thread that has more messages
	Binds  []thread.Bind  `json:"binds,omitempty"`
	Ended  *summary       `json:"ended,omitempty"` // its folder has it
	Gone   string         `json:"gone,omitempty"`  // ref of a forgotten thread
	Kind   string         `json:"kind,omitempty"`  // of a document
	ID     string         `json:"id,omitempty"`
	Doc    []byte         `json:"doc,omitempty"`  // nil removes it
	Days   map[string]int `json:"days,omitempty"` // the highest serials
	Seq    uint64         `json:"n,omitempty"`    // of the change, in a compacted log; else each record is the next change

	envelope json.RawMessage
	messages []json.RawMessage
	step     *thread.Step // of the record, during Append
}

// hasEnvelope reports whether a line with the envelope follows.
func (r record) hasEnvelope() bool { return r.Thread != nil || r.Step != nil }

// encode returns the record in the form of the log.
func (r record) encode() ([]byte, error) {
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

func (r record) lines() []json.RawMessage {
	if !r.hasEnvelope() {
		return r.messages
	}
	return append([]json.RawMessage{r.envelope}, r.messages...)
}

// decodeHead decodes the first line of a record.
func decodeHead(data []byte) (r record, rest []byte, err error) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	err = parse(line, &r)
	return r, rest, err
}

// parse decodes a line that encoding/json has written to the log. A start decodes two lines of each
// open thread, and encoding/json takes three to five times as long for them.
func parse(line []byte, v any) error { return quick.Unmarshal(line, v) }

// decode reads a whole record. Its envelope and messages are parts of data.
func decode(data []byte) (record, error) {
	r, rest, err := decodeHead(data)
	if err != nil {
		return r, err
	}
	if r.hasEnvelope() {
		r.envelope, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(r.envelope) == 0 {
			return r, errors.New("it has no envelope")
		}
	}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		r.messages = append(r.messages, line)
	}
	return r, nil
}

// envelopeIn returns the line with the envelope.
func envelopeIn(data []byte) []byte {
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return line
}

// threadRecord returns a whole thread as a record.
func threadRecord(t thread.Thread) (record, error) {
	sum := summaryOf(t.Envelope)
	r := record{Thread: &sum}
	return r, r.put(t.Envelope, t.Messages)
}

// stepRecord returns a step as a record.
func stepRecord(s thread.Step) (record, error) {
	sum := summaryOf(s.Envelope)
	sum.Keys = extraKeys(s)
	r := record{Binds: s.Binds, step: &s}
	if s.After == "" {
		r.Thread = &sum
	} else {
		r.Step = &sum
	}
	return r, r.put(s.Envelope, s.Messages)
}

func (r *record) put(e thread.Envelope, messages []mess.Message) (err error) {
	if r.envelope, err = json.Marshal(e); err != nil {
		return err
	}
	r.messages = make([]json.RawMessage, len(messages))
	for i, m := range messages {
		if r.messages[i], err = m.JSON(); err != nil {
			return err
		}
	}
	return nil
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
