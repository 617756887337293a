package mess

import (
	"encoding/json"
	"reflect"
	"time"
)

// An untyped value (metadata, structured content, unknown fields) is one of: nil, bool,
// string, Number, []any, Object. The printer also accepts Go's integers, floats,
// map[string]any (in sorted order), []string and time.Time.

// Number is a number as written.
type Number = json.Number

// Object is a mapping in the written order.
type Object []Field

// Field is one key of an Object.
type Field struct {
	Key   string
	Value any
}

// Get returns the value of key, and whether it exists.
func (o Object) Get(key string) (any, bool) {
	for _, f := range o {
		if f.Key == key {
			return f.Value, true
		}
	}
	return nil, false
}

// Text returns the text of a field, or "".
func (o Object) Text(key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}

// Set returns o with key set to value; an existing key keeps its position.
func (o Object) Set(key string, value any) Object {
	for i := range o {
		if o[i].Key == key {
			o[i].Value = value
			return o
		}
	}
	return append(o, Field{key, value})
}

// What describes the kind of an untyped value: "a number", "text", "a list".
func What(value any) string {
	return encode(reflect.ValueOf(value)).Kind.String()
}

// Time is a point in time as written: RFC 3339 with offset.
type Time string

// TimeOf prints t as a Time with milliseconds and its offset.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return ""
	}
	return Time(t.Truncate(time.Millisecond).Format(time.RFC3339Nano))
}

// Duration is a duration as written: ISO 8601 ("PT45M") or Go's short form ("2h15m"), also
// with days ("1d").
type Duration string

// TimeOrDuration is a point in time, or a duration from a known start, as written.
type TimeOrDuration string
