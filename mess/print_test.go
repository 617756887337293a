package mess_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/messkit/messkit/mess"
)

// Go values print as in JSON; NaN and infinity print as null.
func TestGoValuesArePrinted(t *testing.T) {
	at := time.Date(2026, 1, 31, 17, 0, 0, 0, time.FixedZone("", -8*3600))
	type words string
	pct := 12.5
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{"x", `"x"`},
		{words("x"), `"x"`},
		{-3, "-3"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{uint8(7), "7"},
		{0.1, "0.1"},
		{float32(0.5), "0.5"},
		{1e21, "1e+21"},
		{&pct, "12.5"},
		{(*float64)(nil), "null"},
		{math.NaN(), "null"},
		{math.Inf(1), "null"},
		{mess.Number("1.50"), "1.50"},
		{mess.Number("01"), `"01"`},
		{mess.Number(""), `""`},
		{mess.Number("NaN"), `"NaN"`},
		{[]any{1, "a", nil}, `[1,"a",null]`},
		{[]string{"a"}, `["a"]`},
		{[]int{}, `[]`},
		{map[string]any{"b": 1, "a": 2}, `{"a":2,"b":1}`},
		{map[string]int{}, `{}`},
		{at, `"2026-01-31T17:00:00-08:00"`},
		{mess.Object{}, `{}`},
		{mess.Object{{Key: "a", Value: mess.Refs{"x"}}}, `{"a":"x"}`},
		{mess.Reason{Type: "x", Effect: mess.EffectNone}, `{"type":"x","effect":"none"}`},
		{mess.Duration("5m"), `"5m"`},
	} {
		m := mess.Message{Items: []mess.Item{&mess.Other{Type: "odd", Value: c.value}}}
		js, err := m.JSON()
		if want := `{"MESS":[{"odd":` + c.want + `}]}`; string(js) != want || err != nil {
			t.Errorf("%v: got %s, %v, want %s", c.value, js, err, want)
		}
		y, err := m.YAML()
		if err != nil {
			t.Errorf("%v: %v", c.value, err)
		} else if again := printed(t, parse(t, y)); again != string(js) {
			t.Errorf("%v: from YAML %s, from JSON %s", c.value, again, js)
		}
	}
}

// Two messages become two documents.
func TestYAMLAll(t *testing.T) {
	all := parseAll(t, "- cancel: {re: a, reason: \"---\\n--- \"}\n---\n- query: {type: status}\n")
	y, err := mess.YAMLAll(all)
	if err != nil {
		t.Fatal(err)
	}
	again := parseAll(t, string(y))
	if len(again) != 2 || printed(t, again[0]) != printed(t, all[0]) || printed(t, again[1]) != printed(t, all[1]) {
		t.Errorf("got %d messages of\n%s", len(again), y)
	}
}

func TestListJSON(t *testing.T) {
	m := parse(t, []byte("re: a\nMESS: [v: 1.1.0, cancel: {re: b}]"))
	if got, want := string(m.ListJSON()), `[{"v":"1.1.0"},{"cancel":{"re":"b"}}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An unchanged message prints as it was.
func TestPrintingChangesNothing(t *testing.T) {
	extra := mess.Object{{Key: "intent", Value: "shadow"}, {Key: "odd", Value: 1}}
	m := mess.Message{Items: []mess.Item{&mess.Request{Intent: "look", Extra: extra}}}
	if got, want := printed(t, m), `{"MESS":[{"request":{"intent":"look","odd":1}}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if again := printed(t, m); !strings.Contains(again, `"odd":1`) || len(extra) != 2 || extra[0].Value != "shadow" {
		t.Error("printing changes the message")
	}
}

// Any content of a message prints and parses again, also invalid text from a device.
func TestAnyContentCanBePrinted(t *testing.T) {
	for _, s := range []string{"\xff", "a\xc3\x28b", "\xed\xa0\x80", "a\x00b", "\x01\x1b[2J", "\ufffe", "\U0010ffff", "a\r\n\tb ", "\n\n", "\t- a\n\tb"} {
		m := mess.Message{Items: []mess.Item{
			&mess.Status{Re: mess.Refs{"a"}, Code: mess.Failed, Message: s, Reason: &mess.Reason{Type: "x", Detail: s}},
			&mess.Response{Re: mess.Refs{"a"}, Content: []mess.Entry{mess.TextEntry(s), mess.ObjectEntry("structured", map[string]string{s: s})}},
		}}
		js, err := m.JSON()
		if err != nil || !utf8.Valid(js) {
			t.Errorf("%q: %q, %v", s, js, err)
		}
		y, err := m.YAML()
		if err != nil || !utf8.Valid(y) {
			t.Errorf("%q: %q, %v", s, y, err)
		}
		a, errA := mess.Parse(js)
		b, errB := mess.Parse(y)
		if errA != nil || errB != nil {
			t.Errorf("%q cannot be read again: JSON: %v; YAML: %v\n%s", s, errA, errB, y)
			continue
		}
		if x, y := a.Items[0].(*mess.Status).Message, b.Items[0].(*mess.Status).Message; x != y || utf8.ValidString(s) && !strings.Contains(s, "\x00") && x != s {
			t.Errorf("%q is read as %q from JSON and %q from YAML", s, x, y)
		}
	}
}
