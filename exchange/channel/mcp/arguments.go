package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// arguments are the arguments of a tool call. Each read removes an argument, and finish reports
// the others.
type arguments struct {
	left     mess.Object
	problems mess.Problems
}

// parseArguments reads the arguments of a tool call as strict JSON. A duplicate name is an
// error, because its values may contradict each other.
func parseArguments(raw json.RawMessage) (*arguments, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return &arguments{}, nil
	}
	if raw[0] != '{' {
		return nil, mess.Errorf(mess.Invalid, "the arguments are not an object; send one")
	}
	o, err := mess.ParseObjectJSON(raw)
	if err != nil {
		return nil, argumentPaths(err)
	}
	return &arguments{left: o}, nil
}

func (a *arguments) fail(name, text string) {
	a.problems = append(a.problems, mess.Problem{Path: name, Text: text})
}

// finish returns all errors of the arguments.
func (a *arguments) finish() error {
	for _, f := range a.left {
		a.fail(f.Key, "is not an argument of this tool; leave it out")
	}
	return a.problems.Err()
}

// take removes and returns an argument. ok is false if it is absent or null.
func (a *arguments) take(name string) (any, bool) {
	i := slices.IndexFunc(a.left, func(f mess.Field) bool { return f.Key == name })
	if i < 0 {
		return nil, false
	}
	v := a.left[i].Value
	a.left = slices.Delete(a.left, i, i+1)
	return v, v != nil
}

// text returns a text argument, or "".
func (a *arguments) text(name string) string {
	v, ok := a.take(name)
	s, isText := v.(string)
	if ok && !isText {
		a.fail(name, "is not text; write it in quotes")
	}
	return s
}

// ref returns the mandatory ref of a thread or message.
func (a *arguments) ref() string {
	s := strings.TrimSpace(a.text("ref"))
	if s == "" && len(a.problems) == 0 {
		a.fail("ref", "is missing; give the ref that mess_request has returned")
	}
	return s
}

// boolean returns an argument that is true or false, or nil.
func (a *arguments) boolean(name string) *bool {
	v, ok := a.take(name)
	if !ok {
		return nil
	}
	b, isBool := v.(bool)
	if !isBool {
		a.fail(name, "is neither true nor false; write one of them, without quotes")
		return nil
	}
	return &b
}

// number returns a whole number within bounds, or otherwise.
func (a *arguments) number(name string, otherwise, low, high int64) int64 {
	v, ok := a.take(name)
	if !ok {
		return otherwise
	}
	n, isNumber := v.(mess.Number)
	i, err := n.Int64()
	if !isNumber || err != nil || i < low || i > high {
		a.problems = append(a.problems, mess.Problem{Path: name, Text: mess.Errorf(mess.Invalid, "is not a whole number from %d to %d", low, high).Text})
		return otherwise
	}
	return i
}

// seconds returns a duration.
func (a *arguments) seconds(name string, otherwise, low, high time.Duration) time.Duration {
	return time.Duration(a.number(name, int64(otherwise/time.Second), int64(low/time.Second), int64(high/time.Second))) * time.Second
}

// object returns an argument that is an object, or nil.
func (a *arguments) object(name string) mess.Object {
	v, ok := a.take(name)
	o, isObject := v.(mess.Object)
	if ok && !isObject {
		a.fail(name, "is not an object; write {\"field\": \"answer\"}")
	}
	return o
}

// maxText is the limit of a message as text, in bytes, like that of the HTTP API.
const maxText = 10 << 20

// parseMessage reads the arguments of the tool mess: a message as text in YAML or JSON, or as
// JSON itself.
func parseMessage(raw json.RawMessage) (mess.Message, error) {
	var in struct {
		Message json.RawMessage `json:"message"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || len(in.Message) == 0 || string(in.Message) == "null" {
		return mess.Message{}, mess.Errorf(mess.Invalid, "message: is missing, or something else is there; give {\"message\": ...} alone")
	}
	text := []byte(in.Message)
	if text[0] != '"' {
		return mess.ParseValidJSON(text)
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return mess.Message{}, mess.Errorf(mess.Invalid, "message: is no text; give a message in YAML or JSON")
	}
	text = []byte(withoutFence(s))
	if len(text) > maxText {
		return mess.Message{}, mess.Errorf(mess.TooLarge, "message: is larger than %d bytes; send less", maxText)
	}
	all, err := mess.ParseValid(text)
	if err != nil {
		return mess.Message{}, err
	}
	if len(all) != 1 {
		return mess.Message{}, mess.Errorf(mess.Invalid, "message: there are %d documents; put the items into one list, or send one message at a time", len(all))
	}
	return all[0], nil
}

// withoutFence removes the fence that models put around YAML and JSON.
func withoutFence(s string) string {
	s = strings.TrimSpace(s)
	body, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	body, ok = strings.CutSuffix(body, "```")
	_, body, more := strings.Cut(body, "\n") // the fence names a language
	if !ok || !more {
		return s
	}
	return body
}

// requestOf returns a message with a request.
func requestOf(fields mess.Object) (mess.Message, error) {
	text, err := json.Marshal([]any{
		mess.Object{{Key: "v", Value: "1.1.0"}},
		mess.Object{{Key: "request", Value: fields}},
	})
	if err != nil {
		return mess.Message{}, err
	}
	m, err := mess.ParseValidJSON(text)
	if err != nil {
		return mess.Message{}, argumentPaths(err)
	}
	return m, nil
}

// argumentPaths replaces the paths of a generated text by those of the arguments.
func argumentPaths(err error) error {
	ps, ok := errors.AsType[mess.Problems](err)
	if !ok {
		return err
	}
	ps = slices.Clone(ps)
	for i := range ps {
		ps[i].Line = 0
		ps[i].Path = strings.TrimPrefix(strings.TrimPrefix(ps[i].Path, "[1].request"), ".")
	}
	return ps
}
