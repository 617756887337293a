package mess

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// Texts returns a text value as a list of one, and the text in a list; nil if the value is neither,
// or if it is missing.
func (o Object) Texts(key string) (list []string) {
	switch v, _ := o.Get(key); v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
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

// Time returns the point in time, or an error.
func (t Time) Time() (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, string(t))
	if err != nil {
		return time.Time{}, fmt.Errorf("%.60q is not a time; write it like 2026-02-08T23:00:00-08:00", string(t))
	}
	return at, nil
}

// maxDuration is the limit for a duration: ten years.
const maxDuration = 10 * 365 * 24 * time.Hour

// isoDuration matches ISO 8601 section 5.5.2 with weeks, days, hours, minutes and seconds.
// It excludes years and months, which have no fixed length.
var isoDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?$`)
})

// shortDuration matches Go's form, with optional days and weeks before it.
var shortDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(\d{1,6})w)?(?:(\d{1,6})d)?((?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s))*)$`)
})

// Duration returns the duration, or an error.
func (d Duration) Duration() (time.Duration, error) {
	s := strings.TrimSpace(string(d))
	t, ok := parseISO(s)
	if !ok {
		t, ok = parseShort(s)
	}
	if !ok {
		return 0, fmt.Errorf("%.60q is not a duration; write it like PT45M or 2h15m", string(d))
	}
	if t > maxDuration {
		return 0, fmt.Errorf("%.60q is longer than ten years; write a shorter one", string(d))
	}
	return t, nil
}

func parseISO(s string) (time.Duration, bool) {
	m := isoDuration().FindStringSubmatch(s)
	if m == nil || s == "P" || m[3] == "T" {
		return 0, false
	}
	seconds, _ := strconv.ParseFloat("0"+m[6], 64)
	t := days(m[1], 7) + days(m[2], 1)
	for i, unit := range []time.Duration{time.Hour, time.Minute} {
		n, _ := strconv.Atoi("0" + m[4+i])
		t += time.Duration(n) * unit
	}
	return t + time.Duration(seconds*float64(time.Second)), true
}

func parseShort(s string) (time.Duration, bool) {
	m := shortDuration().FindStringSubmatch(s)
	if m == nil || s == "" {
		return 0, false
	}
	t := days(m[1], 7) + days(m[2], 1)
	if m[3] == "" {
		return t, true
	}
	rest, err := time.ParseDuration(m[3])
	return t + rest, err == nil
}

// tooLong is a number of hours above the limit of Duration, and small enough for sums.
const tooLong = time.Duration(2 * maxDuration / time.Hour)

func days(s string, each int) time.Duration {
	n, _ := strconv.Atoi("0" + s) // the grammar allows only a few digits
	return min(time.Duration(n*each)*24, tooLong) * time.Hour
}

// DurationOf prints d in ISO 8601 in seconds, with milliseconds if necessary.
func DurationOf(d time.Duration) Duration {
	if d >= time.Minute {
		d = d.Round(time.Second)
	} else {
		d = d.Round(time.Millisecond)
	}
	if d <= 0 {
		return "PT0S"
	}
	h, m, s := d/time.Hour, d%time.Hour/time.Minute, float64((d%time.Minute).Milliseconds())/1000 // Seconds would return 1.3820000000000001 for 1.382
	var b strings.Builder
	b.WriteString("PT")
	if h > 0 {
		fmt.Fprintf(&b, "%dH", h)
	}
	if m > 0 {
		fmt.Fprintf(&b, "%dM", m)
	}
	if s > 0 {
		b.WriteString(strconv.FormatFloat(s, 'f', -1, 64) + "S")
	}
	return Duration(b.String())
}

// Time returns the point in time; a duration counts from from.
func (w TimeOrDuration) Time(from time.Time) (time.Time, error) {
	if d, err := Duration(w).Duration(); err == nil {
		return from.Add(d), nil
	}
	at, err := Time(w).Time()
	if err != nil {
		return time.Time{}, fmt.Errorf("%.60q is neither a time nor a duration; write it like 2026-02-08T23:00:00-08:00, PT45M or 2h15m", string(w))
	}
	return at, nil
}
