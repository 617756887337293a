package mcp

import (
	"bytes"
	"encoding/json"
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
