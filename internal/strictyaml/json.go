package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON token by token, so that it stops where a deep or long text exceeds a
// limit.
type jsonReader struct {
	limits Limits
	data   []byte
	dec    *json.Decoder
	line   int // of offset at
	at     int64
	from   int64 // start of the last token and the space before it
}

func (l Limits) json(data []byte) (*Value, error) {
	r := &jsonReader{limits: l, data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, problem(r.here(), "there is more after the end of the JSON text; send one at a time")
	}
	return v, nil
}

// here returns the line of the last token.
func (r *jsonReader) here() int {
	if at := r.dec.InputOffset(); at > r.at {
		r.line += bytes.Count(r.data[r.at:at], []byte("\n"))
		r.at = at
	}
	return r.line
}

func (r *jsonReader) token() (json.Token, error) {
	r.from = r.dec.InputOffset()
	t, err := r.dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, problem(r.here(), "not JSON: it ends too early; is it cut off?")
	}
	if err != nil {
		return nil, problem(r.here(), "not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return t, nil
}

// text checks the last string: its escapes must make valid text.
func (r *jsonReader) text(t string) error {
	switch {
	case strings.Contains(t, "\x00"):
		return problem(r.here(), "a NUL character; this is not text")
	case !r.limits.HalfSurrogates && strings.ContainsRune(t, utf8.RuneError) && halfSurrogate(r.data[r.from:r.dec.InputOffset()]):
		return problem(r.here(), "half a character (one of \\ud800 to \\udfff alone); write both halves, or the character itself")
	}
	return nil
}

// halfSurrogate reports whether one of the escapes in a JSON text is half of a UTF-16 pair without
// the other (RFC 8259 section 8.2). The text must be well formed.
func halfSurrogate(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			return false
		}
		r, ok := escaped(data[i:])
		if !ok {
			data = data[i+2:]
			continue
		}
		data = data[i+escapeLen:]
		if !utf16.IsSurrogate(r) {
			continue
		}
		other, _ := escaped(data)
		if utf16.DecodeRune(r, other) == utf8.RuneError {
			return true
		}
		data = data[escapeLen:]
	}
}

const escapeLen = len(`\uFFFF`)

// escaped returns the code unit of the \uFFFF at the start of data.
func escaped(data []byte) (rune, bool) {
	if len(data) < escapeLen || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:escapeLen]), 16, 16)
	return rune(n), err == nil
}

func (r *jsonReader) value(depth int) (*Value, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	v := &Value{Line: r.here()}
	switch t := t.(type) {
	case nil:
	case bool:
		*v = *Truth(t)
		v.Line = r.line
	case json.Number:
		if !inRange(t.String()) {
			return nil, problem(v.Line, "the number %.40s is out of range; put it in quotes if it is text", t)
		}
		v.Kind, v.Text = Number, t.String()
	case string:
		if err := r.text(t); err != nil {
			return nil, err
		}
		v.Kind, v.Text = String, t
	case json.Delim:
		if depth >= r.limits.Depth {
			return nil, problem(v.Line, "nested more than %d deep; make it flatter", r.limits.Depth)
		}
		if t == '[' {
			return v, r.list(v, depth)
		}
		return v, r.mapping(v, depth)
	}
	return v, nil
}

func (r *jsonReader) list(v *Value, depth int) error {
	v.Kind, v.List = List, []*Value{}
	for r.dec.More() {
		one, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		v.List = append(v.List, one)
	}
	_, err := r.token()
	return err
}

func (r *jsonReader) mapping(v *Value, depth int) error {
	v.Kind = Map
	seen := map[string]bool{}
	for r.dec.More() {
		t, err := r.token()
		if err != nil {
			return err
		}
		key, line := t.(string), r.here() // the decoder returns nothing else here
		if err := r.text(key); err != nil {
			return err
		}
		switch {
		case seen[key]:
			return problem(line, "%q is here twice; keep one", key)
		case len(seen) == r.limits.Keys:
			return problem(line, "a mapping with more than %d keys; make it smaller", r.limits.Keys)
		}
		seen[key] = true
		one, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		v.Pairs = append(v.Pairs, Pair{Key: key, Line: line, Value: one})
	}
	_, err := r.token()
	return err
}
