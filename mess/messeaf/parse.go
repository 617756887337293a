package messeaf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// Problem is one error in a thread, with file and line.
type Problem = strictyaml.Problem

// Problems contains all errors in a thread.
type Problems = strictyaml.Problems

// limits of a document in a file; files contain messages with images.
var limits = strictyaml.Limits{Bytes: 64 << 20, Apart: 16 << 20, Depth: 64, Keys: 10_000}

// Document is one document of a file.
type Document struct {
	Line int // line of the file where Text begins, from 1
	Text []byte
}

// Split splits a file into its documents. It omits documents with only comments and
// directives. A document begins at a line with --- and ends at a line with ...; inside a
// document both are indented.
func Split(data []byte) []Document {
	var docs []Document
	start, line, startLine := 0, 1, 1
	flush := func(end int) {
		if d := (Document{Line: startLine, Text: data[start:end]}); !d.empty() {
			docs = append(docs, d)
		}
	}
	for at := 0; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch {
		case isMark(data[at:end], "---"):
			flush(at)
			start, startLine = at, line
		case isMark(data[at:end], "..."):
			flush(at)
			start, startLine = end, line+1
		}
		at = end
	}
	flush(len(data))
	return docs
}

// isMark reports whether a line is a document marker, with or without text after it.
func isMark(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])))
}

func (d Document) empty() bool {
	for line := range bytes.SplitSeq(d.Text, []byte("\n")) {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		if isMark(line, "---") {
			line = line[3:]
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// value parses a document.
func (d Document) value() (*strictyaml.Value, error) {
	docs, err := strictyaml.Parse(d.Text, limits)
	switch {
	case err != nil:
		return nil, d.locate(err)
	case len(docs) != 1 || docs[0].Kind != strictyaml.Map:
		return nil, Problems{{Line: d.Line, Text: "is not a mapping; a document holds an envelope or a message"}}
	}
	return docs[0], nil
}

// locate converts the lines of problems to lines of the file.
func (d Document) locate(err error) error {
	ps, ok := errors.AsType[Problems](err)
	if !ok {
		return err
	}
	for i := range ps {
		ps[i].Line = max(ps[i].Line, 1) + d.Line - 1
	}
	return ps
}

// Parse parses a thread in one text: a v1 file, or the concatenated files of a v2 folder.
// It accepts the forms of other implementations; errors are of type Problems.
func Parse(data []byte) (Thread, error) {
	docs := Split(data)
	if len(docs) == 0 {
		return Thread{}, Problems{{Text: "is empty; the envelope is missing"}}
	}
	env, err := ParseEnvelope(docs[0])
	if err != nil {
		return Thread{}, err
	}
	t := Thread{Envelope: env}
	var problems Problems
	for _, d := range docs[1:] {
		m, err := ParseMessage(d)
		if ps, ok := errors.AsType[Problems](err); ok {
			problems = append(problems, ps...)
		} else if err != nil {
			return Thread{}, err
		}
		t.Messages = append(t.Messages, m)
	}
	if err := problems.Err(); err != nil {
		return Thread{}, err
	}
	Number(t.Envelope.Ref, t.Messages)
	return t, nil
}

// ParseEnvelope parses the first document of a thread.
func ParseEnvelope(d Document) (Envelope, error) {
	v, err := d.value()
	if err != nil {
		return Envelope{}, err
	}
	if v.Get("ref") == nil || v.Get("MESS") != nil {
		return Envelope{}, Problems{{Line: d.Line, Path: "ref", Text: "is missing; the first document must be the envelope"}}
	}
	texts(v, "ref", "client_id", "requestor", "executor", "status", "intent", "priority")
	times(v, "created", "updated", "expires")
	if h := v.Get("history"); h != nil && h.Kind == strictyaml.List {
		for _, e := range h.List {
			texts(e, "action", "by", "ref", "note")
			times(e, "at")
		}
	}
	var e Envelope
	if err := mess.ReadValue(v, &e); err != nil {
		return Envelope{}, d.locate(err)
	}
	if e.Ref == "" {
		return Envelope{}, Problems{{Line: d.Line, Path: "ref", Text: "is empty; write the thread's ref"}}
	}
	return e, nil
}

// ParseMessage parses a later document of a thread.
func ParseMessage(d Document) (mess.Message, error) {
	v, err := d.value()
	if err != nil {
		return mess.Message{}, err
	}
	if v.Get("MESS") == nil {
		return mess.Message{}, Problems{{Line: d.Line, Path: "MESS", Text: "is missing; this is not a message"}}
	}
	texts(v, "from", "channel", "id")
	times(v, "received")
	m, err := mess.ReadDocument(v)
	if err != nil {
		return mess.Message{}, d.locate(err)
	}
	return m, nil
}

// texts converts values to text that some implementations write in another form: numbers,
// and the id of an executor in a mapping (contract, 16).
func texts(v *strictyaml.Value, keys ...string) {
	for i, p := range v.Pairs {
		if !slices.Contains(keys, p.Key) {
			continue
		}
		switch one := p.Value; one.Kind {
		case strictyaml.Map:
			if id := one.Get("id"); id != nil && id.Kind != strictyaml.Map && id.Kind != strictyaml.List {
				v.Pairs[i].Value = str(id.Text, one.Line)
				continue
			}
			v.Pairs[i].Value = str(string(strictyaml.JSON(one)), one.Line)
		case strictyaml.List:
			v.Pairs[i].Value = str(string(strictyaml.JSON(one)), one.Line)
		case strictyaml.Bool, strictyaml.Number:
			v.Pairs[i].Value = str(one.Text, one.Line)
		}
	}
}

// times converts seconds or milliseconds since 1970 to RFC 3339, because one implementation
// writes them for times without quotes (contract, 15).
func times(v *strictyaml.Value, keys ...string) {
	for i, p := range v.Pairs {
		if p.Value.Kind != strictyaml.Number || !slices.Contains(keys, p.Key) {
			continue
		}
		if at, ok := epoch(p.Value.Text); ok {
			v.Pairs[i].Value = str(string(mess.TimeOf(at)), p.Value.Line)
		}
	}
}

// lastSecond is the end of the year 9999; a larger number means milliseconds.
const lastSecond = 253402300799

func epoch(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || n < 0 || n > lastSecond*1000:
		return time.Time{}, false
	case n > lastSecond:
		return time.UnixMilli(n).UTC(), true
	}
	return time.Unix(n, 0).UTC(), true
}

func str(s string, line int) *strictyaml.Value {
	v := strictyaml.Str(s)
	v.Line = line
	return v
}

// inFile adds the name of the file to problems.
func inFile(file string, err error) error {
	ps, ok := errors.AsType[Problems](err)
	if !ok {
		return fmt.Errorf("%s: %w", file, err)
	}
	for i := range ps {
		ps[i].File = file
	}
	return ps
}
