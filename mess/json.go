package mess

import (
	"reflect"

	"github.com/messkit/messkit/internal/strictyaml"
)

// Every type that other packages embed in JSON documents implements encoding/json in the
// forms of MESS.

func toJSON(x any) ([]byte, error) { return strictyaml.JSON(encode(reflect.ValueOf(x))), nil }

// stored contains the limits for documents that messkit has stored, whose input was
// checked. Documents of other servers have the same limits.
var stored = strictyaml.Limits{Bytes: 64 << 20, Apart: 64 << 20, Depth: 64, Keys: 100_000, HalfSurrogates: true}

func fromJSON(data []byte, out any) error {
	n, err := strictyaml.ParseJSON(data, stored)
	if err != nil {
		return err
	}
	var d decoder
	d.into(reflect.ValueOf(out).Elem(), n, "")
	return d.problems.Err()
}

// ReadJSON decodes a JSON text from outside, which may be larger than a message, into a
// struct with `mess` tags. Its errors are of type Problems.
func ReadJSON(data []byte, out any) error {
	limits := stored
	limits.HalfSurrogates = false
	n, err := strictyaml.ParseJSON(data, limits)
	if err != nil {
		return err
	}
	d := decoder{quoted: true}
	if n.Kind != strictyaml.Map {
		return Problems{{Line: n.Line, Text: "is not one mapping; send one"}}
	}
	d.into(reflect.ValueOf(out).Elem(), n, "")
	return d.problems.Err()
}

// UnmarshalJSON decodes a message like ReadDocument, so that stored values that do not fit
// remain.
func (m *Message) UnmarshalJSON(data []byte) error {
	v, err := strictyaml.ParseJSON(data, stored)
	if err != nil {
		return err
	}
	*m, err = ReadDocument(v)
	return err
}

// MarshalJSON and UnmarshalJSON of the standalone types.

func (m Message) MarshalJSON() ([]byte, error)          { return m.JSON() }
func (r Request) MarshalJSON() ([]byte, error)          { return toJSON(r) }
func (r *Request) UnmarshalJSON(data []byte) error      { return fromJSON(data, r) }
func (r Reply) MarshalJSON() ([]byte, error)            { return toJSON(r) }
func (r *Reply) UnmarshalJSON(data []byte) error        { return fromJSON(data, r) }
func (a Answer) MarshalJSON() ([]byte, error)           { return toJSON(a) }
func (a *Answer) UnmarshalJSON(data []byte) error       { return fromJSON(data, a) }
func (c Cancel) MarshalJSON() ([]byte, error)           { return toJSON(c) }
func (c *Cancel) UnmarshalJSON(data []byte) error       { return fromJSON(data, c) }
func (a Ack) MarshalJSON() ([]byte, error)              { return toJSON(a) }
func (a *Ack) UnmarshalJSON(data []byte) error          { return fromJSON(data, a) }
func (q Query) MarshalJSON() ([]byte, error)            { return toJSON(q) }
func (q *Query) UnmarshalJSON(data []byte) error        { return fromJSON(data, q) }
func (c Config) MarshalJSON() ([]byte, error)           { return toJSON(c) }
func (c *Config) UnmarshalJSON(data []byte) error       { return fromJSON(data, c) }
func (s Stop) MarshalJSON() ([]byte, error)             { return toJSON(s) }
func (s *Stop) UnmarshalJSON(data []byte) error         { return fromJSON(data, s) }
func (s StopState) MarshalJSON() ([]byte, error)        { return toJSON(s) }
func (s *StopState) UnmarshalJSON(data []byte) error    { return fromJSON(data, s) }
func (h DrainOrder) MarshalJSON() ([]byte, error)       { return toJSON(h) }
func (h *DrainOrder) UnmarshalJSON(data []byte) error   { return fromJSON(data, h) }
func (h DrainState) MarshalJSON() ([]byte, error)       { return toJSON(h) }
func (h *DrainState) UnmarshalJSON(data []byte) error   { return fromJSON(data, h) }
func (s Status) MarshalJSON() ([]byte, error)           { return toJSON(s) }
func (s *Status) UnmarshalJSON(data []byte) error       { return fromJSON(data, s) }
func (r Response) MarshalJSON() ([]byte, error)         { return toJSON(r) }
func (r *Response) UnmarshalJSON(data []byte) error     { return fromJSON(data, r) }
func (s Suggestion) MarshalJSON() ([]byte, error)       { return toJSON(s) }
func (s *Suggestion) UnmarshalJSON(data []byte) error   { return fromJSON(data, s) }
func (e Executor) MarshalJSON() ([]byte, error)         { return toJSON(e) }
func (e *Executor) UnmarshalJSON(data []byte) error     { return fromJSON(data, e) }
func (r Routing) MarshalJSON() ([]byte, error)          { return toJSON(r) }
func (r *Routing) UnmarshalJSON(data []byte) error      { return fromJSON(data, r) }
func (c Constraints) MarshalJSON() ([]byte, error)      { return toJSON(c) }
func (c *Constraints) UnmarshalJSON(data []byte) error  { return fromJSON(data, c) }
func (c Compensation) MarshalJSON() ([]byte, error)     { return toJSON(c) }
func (c *Compensation) UnmarshalJSON(data []byte) error { return fromJSON(data, c) }
func (m Media) MarshalJSON() ([]byte, error)            { return toJSON(m) }
func (m *Media) UnmarshalJSON(data []byte) error        { return fromJSON(data, m) }
func (l Location) MarshalJSON() ([]byte, error)         { return toJSON(l) }
func (l *Location) UnmarshalJSON(data []byte) error     { return fromJSON(data, l) }
func (o Object) MarshalJSON() ([]byte, error)           { return toJSON(o) }
func (o *Object) UnmarshalJSON(data []byte) error       { return fromJSON(data, o) }
func (e Entry) MarshalJSON() ([]byte, error)            { return toJSON(e) }
func (e *Entry) UnmarshalJSON(data []byte) error        { return fromJSON(data, e) }
func (r Refs) MarshalJSON() ([]byte, error)             { return toJSON(r) }
func (r *Refs) UnmarshalJSON(data []byte) error         { return fromJSON(data, r) }
func (c Capability) MarshalJSON() ([]byte, error)       { return toJSON(c) }
func (c *Capability) UnmarshalJSON(data []byte) error   { return fromJSON(data, c) }
func (h ResponseHint) MarshalJSON() ([]byte, error)     { return toJSON(h) }
func (h *ResponseHint) UnmarshalJSON(data []byte) error { return fromJSON(data, h) }
func (a TargetArea) MarshalJSON() ([]byte, error)       { return toJSON(a) }
func (a *TargetArea) UnmarshalJSON(data []byte) error   { return fromJSON(data, a) }
func (r Reason) MarshalJSON() ([]byte, error)           { return toJSON(r) }
func (r *Reason) UnmarshalJSON(data []byte) error       { return fromJSON(data, r) }
