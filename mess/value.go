package mess

import (
	"encoding/json"
	"reflect"
	"time"
)

// A value that has no type of its own (metadata, structured content, unknown
// fields) is one of: nil, bool, string, Number, []any, Object. Printing also
// takes Go's integers, floats, map[string]any (in sorted order), []string and
// time.Time.

// Number is a number as it was written.
type Number = json.Number

// Object is a mapping in the order it was written.
type Object []Field

// Field is one key of an Object.
type Field struct {
	Key   string
	Value any
}

// Get returns the value of key, and whether it is there.
func (o Object) Get(key string) (any, bool) {
	for _, f := range o {
		if f.Key == key {
			return f.Value, true
		}
	}
	return nil, false
}

// Text returns the value of a field, "" if it has no text.
func (o Object) Text(key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}

// Set returns o with key set to value, in place if it was there.
func (o Object) Set(key string, value any) Object {
	for i := range o {
		if o[i].Key == key {
			o[i].Value = value
			return o
		}
	}
	return append(o, Field{key, value})
}

// What says what a value without a type of its own is: "a number", "text", "a
// list".
func What(value any) string {
	return encode(reflect.ValueOf(value)).Kind.String()
}

// Time is a point in time as written: RFC 3339 with offset.
type Time string

// TimeOf prints t as a Time, to the millisecond, with its offset.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return ""
	}
	return Time(t.Truncate(time.Millisecond).Format(time.RFC3339Nano))
}

// Duration is a length of time as written: ISO 8601 ("PT45M") or Go's short
// form ("2h15m"), also with days ("1d").
type Duration string

// When is a point in time, or a length of time from a known start, as written.
type When string
