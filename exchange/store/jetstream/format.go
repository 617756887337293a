package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// newest is the newest format of a stream that this program reads and writes:
//
//	1: the records of logformat
//	2: threads can be in archives
//
// It is a text, so that a test can build a program with another one (go build -ldflags -X).
var newest = "2"

// Newest returns the newest format of a stream that this program reads and writes.
func Newest() int {
	n, err := strconv.Atoi(newest)
	if err != nil {
		panic("jetstream: newest: " + err.Error()) // the build has set it
	}
	return n
}

// formatHeader is the format of a message; without it, the format is 1.
const formatHeader = "Mess-Format"

// FormatError is the error for a stream that only a later release can read.
type FormatError struct {
	Is    int
	Knows int // the newest format of this release
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("store: the stream has format %d, and this messkit knows formats up to %d; install the newer messkit that the other exchanges have", e.Is, e.Knows)
}

// format is the message about the format of the stream.
type format struct {
	Format int `json:"format"`
}

// readFormatDoc reads the message about the format of a stream.
func readFormatDoc(data []byte) (int, error) {
	var f format
	if err := json.Unmarshal(data, &f); err != nil {
		return 0, fmt.Errorf("the format of the stream: %w", err)
	}
	if f.Format < 1 {
		return 0, fmt.Errorf("the format of the stream: %d is none", f.Format)
	}
	return f.Format, nil
}

// Format returns the format in which this store writes, and which all exchanges of the stream read.
func (s *Store) Format() int { return int(max(1, s.format.Load())) }

// noteFormat records the format of the stream, and returns a *FormatError for one that this program
// does not know.
func (s *Store) noteFormat(n int) error {
	s.format.Store(int64(n))
	return s.checkFormat()
}

func (s *Store) checkFormat() error {
	if n := s.Format(); n > s.newest {
		return &FormatError{n, s.newest}
	}
	return nil
}

// loadFormat reads the format of the stream, and the sequence of the message that states it; 0 for
// none.
func (s *Store) loadFormat(ctx context.Context) (seq uint64, err error) {
	m, err := s.lastMsg(ctx, s.subject("f"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, s.noteFormat(1)
	}
	if err != nil {
		return 0, err
	}
	seq = m.Sequence
	n, err := readFormatDoc(m.Data)
	for at := uint64(1); err != nil && at < seq; { // the last message is unreadable; take those before
		before, wrong := s.getMsg(ctx, at, s.subject("f"))
		if wrong != nil || before.Sequence >= seq {
			break
		}
		if is, wrong := readFormatDoc(before.Data); wrong == nil {
			n = max(n, is)
		}
		at = before.Sequence + 1
	}
	return seq, s.noteFormat(max(n, s.Format()))
}

// Upgrade has the stream use the newest format of this program from now on. An exchange that does not
// know this format ends. It returns the format before.
func (s *Store) Upgrade(ctx context.Context) (before int, err error) {
	seq, err := s.loadFormat(ctx)
	if before = s.Format(); err != nil || before == s.newest {
		return before, err
	}
	data, err := json.Marshal(format{s.newest})
	if err != nil {
		return before, err
	}
	m := expecting(s.subject("f"), seq, data)
	m.Header.Set(rollupHeader, "sub")
	try, cancel := context.WithTimeout(ctx, 5*attemptTimeout)
	defer cancel()
	if _, err := s.js.PublishMsg(try, m); err != nil {
		return before, fmt.Errorf("store: the format of the stream: %w; run the command again", err)
	}
	return before, s.noteFormat(s.newest)
}

// formatOf returns the format of a message.
func formatOf(h nats.Header) (int, error) {
	text := h.Get(formatHeader)
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("the header %s: %.20q is no format", formatHeader, text)
	}
	return n, nil
}
