package httpclient

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// event is one server-sent event (HTML Living Standard section 9.2).
type event struct {
	ID   string
	Name string
	Data []byte
}

// maxEvent is the largest event, in bytes.
const maxEvent = 16 << 20

// events reads a stream of events.
type events struct {
	r      *bufio.Reader
	lastID string
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReader(r)} }

// next returns the next event. A comment is an event without a name, an id or data; the name of
// an event with data defaults to message. At the end of the stream next returns io.EOF and drops
// an incomplete event.
func (e *events) next() (event, error) {
	var ev event
	got, size := false, 0
	for {
		line, err := e.line()
		if err != nil {
			return event{}, err
		}
		if size += len(line); size > maxEvent {
			return event{}, fmt.Errorf("an event of more than %d bytes", maxEvent)
		}
		if len(line) == 0 {
			if got {
				ev.ID = e.lastID
				if ev.Data != nil {
					ev.Name = cmp.Or(ev.Name, "message")
				}
				return ev, nil
			}
			continue
		}
		if line[0] == ':' {
			if !got {
				return event{}, nil
			}
			continue
		}
		got = true
		e.field(&ev, line)
	}
}

func (e *events) field(ev *event, line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		if !bytes.ContainsRune(value, 0) {
			e.lastID = string(value)
		}
	case "event":
		ev.Name = string(value)
	case "data":
		if ev.Data != nil {
			ev.Data = append(ev.Data, '\n')
		}
		ev.Data = append(ev.Data, value...)
		if ev.Data == nil {
			ev.Data = []byte{} // there, and empty
		}
	}
}

// line reads one line, which ends with LF or CR LF.
func (e *events) line() ([]byte, error) {
	var line []byte
	for {
		part, err := e.r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxEvent {
			return nil, fmt.Errorf("an event of more than %d bytes", maxEvent)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
