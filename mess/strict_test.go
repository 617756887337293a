package mess_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
)

// A message declared as JSON must be JSON: YAML syntax, or a number in place of text, is an
// error.
func TestJSONIsNotYAML(t *testing.T) {
	for text, want := range map[string]string{
		`[{"request":{"intent":"look"}}]`:                            "",
		"\xef\xbb\xbf" + `{"MESS":[{"request":{"intent":"look"}}]}`:  "", // RFC 8259 section 8.1: a reader may ignore it
		" \r\n\t" + `{"request":{"intent":"look","x":1e3}}` + "\n\n": "",

		`{'request':{'intent':'look'}}`:                             "not JSON",
		`{request: {intent: look}}`:                                 "not JSON",
		`[{request: {intent: look}},]`:                              "not JSON",
		`[{"request":{"intent":"look",}}]`:                          "not JSON",
		`[{"request":{"intent":"look"}},]`:                          "not JSON",
		"MESS:\n- request: {intent: look}\n":                        "not JSON",
		`[{"request":{"intent":"look","x":NaN}}]`:                   "not JSON",
		`[{"request":{"intent":"look","x":01}}]`:                    "not JSON",
		`[{"request":{"intent":"look","x":+1}}]`:                    "not JSON",
		`[{"request":{"intent":"look","x":.5}}]`:                    "not JSON",
		`[{"request":{"intent":"look","x":True}}]`:                  "not JSON",
		`[{"request":{"intent":"lo` + "\n" + `ok"}}]`:               "not JSON",
		`[{"request":{"intent":"\x41"}}]`:                           "not JSON",
		`[{"request":{"intent":"look"}}] # why`:                     "more after the end",
		`[{"request":{"intent":"look"}}]]`:                          "more after the end",
		`[{"request":{"intent":"look"}}][]`:                         "more after the end",
		`[{"request":{"intent":"look","intent":"act"}}]`:            "twice",
		`[{"request":{"intent":"look","inten\u0074":"act"}}]`:       "twice",
		`[{"request":{"intent":"\ud800"}}]`:                         "half a character",
		"[{\"request\":{\"intent\":\"\xff\"}}]":                     "not UTF-8",
		"\xfe\xff" + `[{}]`:                                         "not UTF-8",
		strings.Repeat("[", 100) + strings.Repeat("]", 100):         "nested more than",
		`[{"request":{"intent":"look","x":1e999}}]`:                 "out of range",
		`[{"request":{"intent":5}}]`:                                "is a number; write text",
		`[{"request":{"intent":"look","id":5}}]`:                    "is a number; write text",
		`[{"status":{"re":"a","code":"failed","reason":5}}]`:        "reason",
		`[{"request":{"intent":"look","context":5}}]`:               "is a number; write a list",
		`[{"request":{"intent":"look","context":true}}]`:            "is true or false; write a list",
		`[{"config":{"executor":{"id":"pi","name":5}}}]`:            "is a number; write text",
		`[{"config":{"hold":{"why":5}}}]`:                           "is a number; write text",
		`[{"request":{"intent":"look","compensation":{"note":5}}}]`: "is a number; write text",
		``: "ends too early",
	} {
		m, err := mess.ParseValidJSON([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if ps, ok := errors.AsType[mess.Problems](err); err != nil && (!ok || len(ps) == 0 || !cmp.Equal(m, mess.Message{})) {
			t.Errorf("%s: %T and %v", text, err, m)
		}
	}
	for text, ok := range map[string]bool{`{"a":1}`: true, `{}`: true, `{a: 1}`: false, `[]`: false, `null`: false, `5`: false, ``: false, `{"a":1} x`: false} {
		if _, err := mess.ParseObjectJSON([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	// In YAML a number may be text without quotes.
	if m, err := mess.Parse([]byte("request: {intent: look, id: 5}")); err != nil || m.Items[0].(*mess.Request).ID != "5" {
		t.Errorf("%v %v", m, err)
	}
}

func TestReadJSON(t *testing.T) {
	type file struct {
		Name string `mess:"name"`
		Size int64  `mess:"size"`
	}
	var got struct {
		Files []file `mess:"files"`
	}
	if err := mess.ReadJSON([]byte(`{"files":[{"name":"a","size":7,"more":true}]}`), &got); err != nil || len(got.Files) != 1 || got.Files[0] != (file{"a", 7}) {
		t.Errorf("%+v %v", got, err)
	}
	for text, want := range map[string]string{`{"files":[{"name":5}]}`: "files[0].name: is a number; write text", `{"files":{"name":"a"},"files":[]}`: "twice", `{"files":5}`: "files[0]: is a number; write a mapping", `{`: "ends too early"} {
		if err := mess.ReadJSON([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzJSON checks that JSON decodes the same without the declaration, except for numbers in
// place of text.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`[{"request":{"intent":"look","id":5}}]`, `{'request':{}}`, `{"MESS":[{"status":{"re":"a","code":"failed","reason":"x"}}]}`, "\xef\xbb\xbf[]", `{"a":1,}`, "- request: {}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := mess.ParseJSON(data)
		if err != nil {
			if !cmp.Equal(m, mess.Message{}) {
				t.Fatalf("%v, and a message: %#v", err, m)
			}
			return
		}
		again, err := mess.Parse(data)
		if err != nil || !cmp.Equal(m, again) {
			t.Fatalf("%v\n%s", err, cmp.Diff(m, again))
		}
	})
}
