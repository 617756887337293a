package watchdog

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestInvalidMessagesAreRejected(t *testing.T) {
	for _, line := range []string{
		``, `{`, `[]`, `{"seq":1} {"seq":2}`, `{"seq":1,"sing":true}`, `{"seq":-1}`, `{}`,
		`{"seq":1,"devices":[{"name":"a","kind":"k"}]}`, `{"seq":1,"devices":[{"name":"","kind":"k","off":1}]}`,
		`{"seq":1,"on":[{"device":"a"}]}`, `{"seq":1,"on":[{"device":"a","epoch":1,"left":-1}]}`,
		`{"seq":1,"off":[{"epoch":1}]}`, `{"seq":1,"off":[{"device":"` + strings.Repeat("a", maxName+1) + `"}]}`,
	} {
		if w, err := parseMessage([]byte(line)); err == nil || !reflect.ValueOf(w).IsZero() {
			t.Errorf("%s: %+v, %v", line, w, err)
		}
	}
	if a, err := parseAnswer([]byte(`{"no":"x"}`)); err == nil || a != (Answer{}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// With an error the parser returns the zero value, and a valid message survives printing and
// parsing.
func FuzzMessage(f *testing.F) {
	for _, line := range []string{
		`{"seq":1}`, `{"seq":1,"devices":[{"name":"a","kind":"k","off":{"x":1},"safe":"s"}],"on":[{"device":"a","epoch":1,"left":5}]}`,
		`{"seq":2,"off":[{"device":"a","epoch":1}]}`, `{"seq":1,"devices":[{"name":"a","kind":"k","off":null}]}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		w, err := parseMessage(line)
		if err != nil {
			if !reflect.ValueOf(w).IsZero() {
				t.Errorf("%q: %+v with %v", line, w, err)
			}
			return
		}
		twice(t, w, parseMessage)
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"seq":1,"no":"\u00e9"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := parseAnswer(line)
		if err != nil {
			if a != (Answer{}) {
				t.Errorf("%q: %+v with %v", line, a, err)
			}
			return
		}
		twice(t, a, parseAnswer)
	})
}

// twice prints and parses.
func twice[T any](t *testing.T, v T, parse func([]byte) (T, error)) {
	t.Helper()
	line, err := print(v)
	if err != nil || bytes.Count(line, []byte("\n")) != 1 {
		t.Fatalf("%+v: %q, %v", v, line, err)
	}
	again, err := parse(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	want, err := json.Marshal(v)
	got, err2 := json.Marshal(again)
	if err != nil || err2 != nil || !bytes.Equal(want, got) {
		t.Errorf("%s, then %s", want, got)
	}
}

// The length of a line has a limit, and the last line may lack its end.
func TestLineLengthIsLimited(t *testing.T) {
	var got []string
	collect := func(line []byte) error { got = append(got, string(line)); return nil }
	if err := lines(strings.NewReader("a\nbc\nd"), collect); err != nil || strings.Join(got, ",") != "a,bc,d" {
		t.Errorf("%q, %v", got, err)
	}
	if err := lines(strings.NewReader(strings.Repeat("x", maxMessage+2)), collect); err == nil {
		t.Error("a line without an end was read")
	}
}
