package mess_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/messkit/messkit/mess"
)

// FuzzParse checks two laws: an error means no message, and a printed message, in either
// format, parses to the same message and prints the same text again.
func FuzzParse(f *testing.F) {
	for _, version := range []string{"1.0", "1.1"} {
		for name, text := range readAll(f, filepath.Join("testdata", "vectors", version)) {
			if strings.HasSuffix(name, ".yaml") {
				f.Add([]byte(text))
			}
		}
	}
	for _, c := range hostile {
		if text := c.text(); len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	for _, item := range slices.Concat(every, entryForms) {
		f.Add([]byte("[" + item + "]"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := mess.Parse(data)
		if err != nil {
			if !reflect.DeepEqual(m, mess.Message{}) {
				t.Fatalf("%v, and a message: %#v", err, m)
			}
			return
		}
		_ = m.Validate() // must not panic
		js, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		y, err := m.YAML()
		if err != nil {
			t.Fatal(err)
		}
		samePrinted(t, m, js, y)
	})
}

// samePrinted parses printed text. A message that exceeds the limit after printing (quotes,
// indentation) cannot be parsed again.
func samePrinted(t *testing.T, m mess.Message, js, y []byte) {
	t.Helper()
	for _, text := range [][]byte{js, y} {
		if len(text) > 64<<10 {
			continue
		}
		again, err := mess.Parse(text)
		if err != nil {
			t.Fatalf("the printed message cannot be parsed: %v\n%s", err, text)
		}
		if a, b := printed(t, m), printed(t, again); a != b {
			t.Fatalf("printed, read and printed:\n%s\n%s", a, b)
		}
		if !reflect.DeepEqual(m, again) {
			t.Fatalf("not the same message:\n%#v\n%#v\n%s", m, again, text)
		}
	}
}

func printed(t *testing.T, m mess.Message) string {
	t.Helper()
	js, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(js)
}

// FuzzDuration checks that each valid duration prints with milliseconds and parses again.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"2h15m", "PT45M", "P1DT2H", "1d", "P2W", "1.5h", "PT1.5S", "-5m", "P", "PT", "", "999999w", "PT0.0000001S"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := mess.Duration(s).Duration()
		if err != nil {
			if d != 0 {
				t.Fatalf("%v, and %v", err, d)
			}
			return
		}
		if d < 0 || d > 11*365*24*time.Hour {
			t.Fatalf("%q is %v", s, d)
		}
		again, err := mess.DurationOf(d).Duration()
		if err != nil || (again-d).Abs() > time.Second/2 {
			t.Fatalf("%q is %v, printed %q, read %v, %v", s, d, mess.DurationOf(d), again, err)
		}
	})
}

// FuzzTime checks that each valid time prints with milliseconds and parses again.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-02-08T23:00:00-08:00", "2026-01-31T17:00:00Z", "2026-01-31T17:00:00.123456789+05:30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2026-01-31", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := mess.Time(s).Time()
		if err != nil {
			if !at.IsZero() {
				t.Fatalf("%v, and %v", err, at)
			}
			return
		}
		if at.IsZero() {
			return // TimeOf returns "" for the zero time
		}
		again, err := mess.TimeOf(at).Time()
		if err != nil || !again.Equal(at.Truncate(time.Millisecond)) {
			t.Fatalf("%q is %v, printed %q, read %v, %v", s, at, mess.TimeOf(at), again, err)
		}
	})
}

// FuzzRef checks that a reference survives both formats, alone and in a list, and that an
// id is a reference that file names, URLs and topics can contain.
func FuzzRef(f *testing.F) {
	for _, s := range []string{"last", "shop:2026-01-31:042", "2026-02-01-001-fridge-check/claim-001", "42", "no", "a b", "- a", "../x", "", "\u2028", "\x89"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if mess.ValidID(s) && (!mess.ValidRef(s) || strings.ContainsAny(s, "/\\+#*?%&\x00 \n") || strings.Contains(s, "..")) {
			t.Fatalf("%q is an id", s)
		}
		if mess.ValidRef(s) && !utf8.ValidString(s) {
			t.Fatalf("%q is a reference", s)
		}
		if !mess.ValidRef(s) {
			return
		}
		m := mess.Message{Re: mess.Refs{s, "x"}, Items: []mess.Item{&mess.Cancel{Re: mess.Refs{s}}}}
		y, err := m.YAML()
		if err != nil {
			t.Fatal(err)
		}
		samePrinted(t, m, []byte(printed(t, m)), y)
	})
}
