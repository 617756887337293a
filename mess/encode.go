package mess

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/strictyaml"
)

// encode converts a type of this package, or a plain value, to a value of a document. It
// omits nil and "" from mappings.
func encode(v reflect.Value) *node {
	if !v.IsValid() {
		return &node{}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return &node{}
		}
		return encode(v.Elem())
	case reflect.String:
		if v.Type() == reflect.TypeFor[Number]() {
			return number(v.String())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return strictyaml.Str(v.Interface().(time.Time).Format(time.RFC3339Nano))
		}
	}
	if isShort(v.Type()) {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		return p.Interface().(short).write()
	}
	return encodeKind(v)
}

var shorts sync.Map // bool by reflect.Type

func isShort(t reflect.Type) bool {
	if is, ok := shorts.Load(t); ok {
		return is.(bool)
	}
	is := reflect.PointerTo(t).Implements(reflect.TypeFor[short]())
	shorts.Store(t, is)
	return is
}

func encodeKind(v reflect.Value) *node {
	switch v.Kind() {
	case reflect.String:
		return strictyaml.Str(v.String())
	case reflect.Bool:
		return strictyaml.Truth(v.Bool())
	case reflect.Slice, reflect.Array:
		n := &node{Kind: strictyaml.List, List: make([]*node, v.Len())}
		for i := range v.Len() {
			n.List[i] = encode(v.Index(i))
		}
		return n
	case reflect.Struct:
		n := &node{Kind: strictyaml.Map}
		addFields(n, v)
		return n
	case reflect.Map:
		return encodeMap(v)
	case reflect.Float32, reflect.Float64:
		return float(v.Float())
	}
	if v.CanInt() {
		return strictyaml.Num(strconv.FormatInt(v.Int(), 10))
	}
	if v.CanUint() {
		return strictyaml.Num(strconv.FormatUint(v.Uint(), 10))
	}
	panic("mess: a value of type " + v.Type().String())
}

// addFields adds the non-empty fields of a struct, followed by the unknown ones.
func addFields(n *node, v reflect.Value) {
	t := typeOf(v.Type())
	for i, f := range t.fields {
		fv := v.Field(f)
		switch {
		case !isSet(fv):
		case t.lists[i] && !isWord(fv):
			n.Add(t.names[i], encodeKind(fv))
		default:
			n.Add(t.names[i], encode(fv))
		}
	}
	if t.extra >= 0 {
		if extra := v.Field(t.extra); extra.Len() > 0 {
			addObject(n, extra.Interface().(Object))
		}
	}
}

// isWord reports whether a list stands for one keyword (MESS 1.0 section 7.4).
func isWord(list reflect.Value) bool {
	return list.Len() == 1 && (list.Index(0).String() == LowerLatency || list.Index(0).String() == HigherPrecision)
}

func addObject(n *node, o Object) {
	for _, f := range o {
		if n.Get(f.Key) == nil { // known fields take precedence
			n.Add(f.Key, encode(reflect.ValueOf(f.Value)))
		}
	}
}

func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return !v.IsNil()
	case reflect.String, reflect.Uint64:
		return !v.IsZero()
	}
	return true
}

func encodeMap(v reflect.Value) *node {
	n := &node{Kind: strictyaml.Map}
	keys := map[string]reflect.Value{}
	for k, one := range v.Seq2() {
		keys[fmt.Sprint(k.Interface())] = one
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		n.Add(k, encode(keys[k]))
	}
	return n
}

// float prints a number, or null for NaN and infinity, which JSON cannot represent.
func float(f float64) *node {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return &node{}
	}
	b, _ := json.Marshal(f) // cannot fail for a finite number
	return strictyaml.Num(string(b))
}

var numberGrammar = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// number prints s as written, or as text if it is not a number.
func number(s string) *node {
	if !numberGrammar.MatchString(s) {
		return strictyaml.Str(s)
	}
	return strictyaml.Num(s)
}

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
