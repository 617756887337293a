package mess_test

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
)

// hostile lists invalid texts. They are functions, because some are large.
var hostile = []struct {
	name string
	text func() string
	want string // part of the error
}{
	// Values that are not text.
	{"a number for an intent", text("- request:\n    id: 42\n    intent: 5\n"), "line 3: [0].request.intent: is a number; write text"},
	{"a number for an intent in JSON", text(`[{"request": {"id": 42, "intent": 5}}]`), "request.intent: is a number; write text"},

	{"a number for a capability", text("- request:\n    intent: x\n    requires: 5\n"), "line 3: [0].request.requires[0]: is a number; write text"},
	{"a number for a capability in JSON", text(`[{"request":{"intent":"x","requires":["a",5]}}]`), "request.requires[1]: is a number; write text"},
	{"a number for a hint", text(`[{"request":{"intent":"x","response_hint":5}}]`), "response_hint[0]: is a number; write text"},
	{"half a character in JSON", text("[{\"request\":\n{\"intent\":\"x \\ud800\"}}]"), "line 2: half a character"},
	{"the other half", text(`[{"request":{"intent":"\udfff"}}]`), "line 1: half a character"},
	{"halves the wrong way round", text(`[{"request":{"intent":"\ude00\ud83d"}}]`), "line 1: half a character"},
	{"half a character after a whole one", text(`[{"request":{"intent":"\ud83d\ude00\ud83dx"}}]`), "line 1: half a character"},
	{"half a character in a key", text(`[{"request":{"intent":"x","\uD800":1}}]`), "line 1: half a character"},
	{"half a character in YAML", text("- request: {intent: \"x \\ud800\"}\n"), "line 1: not YAML: found invalid Unicode character escape code"},

	// YAML features with surprising results.
	{"alias", text("- request: {intent: &a x, id: *a}\n"), "line 1: "},
	{"anchor alone", text("- request:\n    intent: &a x\n"), "line 2: an anchor (&a)"},
	{"billion laughs", bomb, "line 1: "},
	{"billion laughs in a merge", mergeBomb, "line "},
	{"alias of itself", text("&a [*a]\n"), "line 1: "},
	{"merge key", text("- request:\n    <<: {intent: x}\n"), "line 2: a merge key"},
	{"tag", text("- request: {intent: !!str x}\n"), "line 1: a tag (!!str)"},
	{"own tag", text("- !secret request:\n    intent: x\n"), "line 1: "},
	{"binary tag", text("- request:\n    intent: !!binary AAAA\n"), "line 2: a tag"},
	{"tag on a mapping", text("- request: !!map {intent: x}\n"), "line 1: a tag"},
	{"tag handle", text("%TAG ! tag:example.com,2000:\n---\n- request: {intent: !x y}\n"), "line 3: a tag"},
	{"mapping as key", text("- ? {a: b}\n  : c\n"), "line 1: a key"},
	{"list as key", text("- request:\n    ? [a]\n    : c\n"), "line 2: a key"},
	{"duplicate key", text("- request:\n    intent: x\n    intent: y\n"), `line 3: "intent" is here twice`},
	{"duplicate key in quotes", text("- request:\n    intent: x\n    \"intent\": y\n"), `line 3: "intent" is here twice`},
	{"duplicate MESS", text("MESS: [cancel: {re: a}]\nMESS: [cancel: {re: b}]\n"), `line 2: "MESS" is here twice`},
	{"duplicate key deep in what is unknown", text("- odd:\n    - {a: {b: 1, b: 1}}\n"), `line 2: "b" is here twice`},
	{"duplicate key in JSON", text("[{\"request\":\n{\"intent\":\"x\",\n\"intent\":\"x\"}}]"), `line 3: "intent" is here twice`},
	{"duplicate key in JSON, escaped", text(`[{"request":{"intent":"x","\u0069ntent":"y"}}]`), `line 1: "intent" is here twice`},
	{"duplicate key deep in JSON", text(`[{"odd":[{"a":{"b":1,"b":1}}]}]`), `line 1: "b" is here twice`},

	// Depth.
	{"100 deep, YAML flow", text("- odd: " + strings.Repeat("[", 100) + strings.Repeat("]", 100)), "line 1: nested more than 32 deep"},
	{"100 deep, YAML flow mappings", text("- odd: " + strings.Repeat("{a: ", 100) + "1" + strings.Repeat("}", 100)), "line 1: nested more than 32 deep"},
	{"100 deep, YAML block", func() string { return block(100) }, "line 34: nested more than 32 deep"},
	{"100 deep, YAML block lists", text("- odd:\n  " + strings.Repeat("- ", 100) + "x"), "line 2: nested more than 32 deep"},
	{"100 deep, JSON", text(`[{"odd":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}]"), "line 1: nested more than 32 deep"},
	{"100 deep, JSON objects", text("[" + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100) + "]"), "line 1: nested more than 32 deep"},
	{"60,000 deep, YAML flow", text(strings.Repeat("[", 60_000)), ""},
	{"60,000 deep, JSON", text(`[{"a":` + strings.Repeat("[", 60_000)), "line 1: nested more than 32 deep"},
	{"60,000 deep, JSON closed", text(`[{"a":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "}]"), "line 1: nested more than 32 deep"},

	// Size.
	{"megabyte string", text("- request: {intent: " + strings.Repeat("x", 1<<20) + "}\n"), "the limit is 65536"},
	{"megabyte string in JSON", text(`[{"request":{"intent":"` + strings.Repeat("x", 1<<20) + `"}}]`), "the limit is 65536"},
	{"megabyte key", text("- request: {" + strings.Repeat("x", 1<<20) + ": y}\n"), "the limit is 65536"},
	{"megabyte key in JSON", text(`[{"request":{"` + strings.Repeat("x", 1<<20) + `":1}}]`), "the limit is 65536"},
	{"megabyte comment", text("#" + strings.Repeat("x", 1<<20) + "\n- cancel: {re: a}\n"), "the limit is 65536"},
	{"megabyte of spaces", text(strings.Repeat(" ", 1<<20)), "the limit is 65536"},
	{"megabyte of newlines", text(strings.Repeat("\n", 1<<20)), "the limit is 65536"},
	{"megabyte of document marks", text(strings.Repeat("---\n", 1<<18)), "the limit is 65536"},
	{"a byte over 64 KiB", text(sized(64<<10 + 1)), "the limit is 65536"},
	{"20 MB data URI", text("- response: {re: a, content: [image: 'data:image/png;base64," + strings.Repeat("A", 20<<20) + "']}"), "the limit is 10485760"},
	{"text that calls itself a data URI", text("- request: {intent: 'data:text/plain," + strings.Repeat("x", 1<<20) + "'}"), "the limit is 65536"},
	{"data URI with much before base64", text("- request: {intent: 'data:" + strings.Repeat("x", 100_000) + ";base64,AAAA'}"), "the limit is 65536"},
	{"data URI with spaces", text("- request: {intent: 'data:image/png;base64," + strings.Repeat("AAA ", 50_000) + "'}"), "the limit is 65536"},
	{"brackets after base64", text("- odd: [data:image/png;base64," + strings.Repeat("[", 100_000) + "]"), "the limit is 65536"},
	{"10,000 keys", func() string { return keys(10_000, "  k%d: 1\n", "odd:\n", "") }, ""},
	{"10,000 short keys", func() string { return keys(10_000, "%d:,", "odd: {", "}") }, ""},
	{"10,000 keys in JSON", func() string { return keys(10_000, `"%d":1,`, `{"odd":{`, `"x":1}}`) }, ""},
	{"1,001 keys", func() string { return keys(1001, "  k%d: 1\n", "odd:\n", "") }, "line 2: a mapping with 1001 keys; the limit is 1000"},
	{"1,001 keys in JSON", func() string { return keys(1000, `"%d":1,`, `{"odd":{`, `"x":1}}`) }, "line 1: a mapping with more than 1000 keys"},

	// Invalid characters.
	{"NUL", text("- request:\n    intent: a\x00b\n"), "line 2: a NUL byte"},
	{"NUL alone", text("\x00"), "line 1: a NUL byte"},
	{"NUL escaped", text("- request:\n    intent: \"a\\0b\"\n"), "line 2: a NUL character"},
	{"NUL escaped in a key", text("- request:\n    \"a\\x00b\": c\n"), "line 2: a NUL character"},
	{"NUL escaped in JSON", text("[{\"request\":\n{\"intent\":\"a\\u0000b\"}}]"), "line 2: a NUL character"},
	{"NUL escaped in a key in JSON", text(`[{"request":{"\u0000":"b"}}]`), "line 1: a NUL character"},
	{"invalid UTF-8", text("- request:\n    intent: \xff\xfe\n"), "line 2: not UTF-8"},
	{"invalid UTF-8 in JSON", text("[{\"request\":\n{\"intent\":\"\xc3\x28\"}}]"), "line 2: not UTF-8"},
	{"a surrogate in UTF-8", text("- cancel: {re: \xed\xa0\x80}\n"), "line 1: not UTF-8"},
	{"UTF-16", text("\xff\xfe-\x00 \x00a\x00"), "line 1: "},
	{"control character", text("- request: {intent: \"a\x01b\"}\n"), ""},
	{"tabs", text("- request:\n\tintent: x\n"), "tabs"},
	{"empty", text(""), "it is empty"},
	{"spaces", text("  \n\n"), "it is empty"},
	{"comments", text("# a\n# b\n"), "it is empty"},
	{"document marks", text("---\n---\n...\n"), "it is empty"},
	{"byte order mark alone", text("\ufeff"), "it is empty"},

	// Numbers.
	{"1e999999", text("- odd: [1e999999]\n"), "line 1: the number 1e999999 is out of range"},
	{"1e999999 in JSON", text("[{\"odd\":\n1e999999}]"), "line 2: the number 1e999999 is out of range"},
	{"-1e400 in a field", text("- status: {re: a, code: in_progress, progress_pct: -1e400}\n"), "line 1: the number -1e400 is out of range"},
	{"a number of 60,000 digits", text("- odd: 1" + strings.Repeat("0", 60_000) + "\n"), "line 1: the number 1000"},
	{"NaN in a field", text("- status: {re: a, code: in_progress, progress_pct: .nan}\n"), "[0].status.progress_pct: is text"},
	{"infinity in a field", text("- status: {re: a, code: in_progress, progress_pct: -.inf}\n"), "[0].status.progress_pct: is text"},
	{"NaN in JSON", text(`[{"odd":NaN}]`), ""},
	{"hexadecimal in a field", text("- status: {re: a, code: in_progress, progress_pct: 0x1F}\n"), "[0].status.progress_pct: is text"},

	// Texts that are not a message.
	{"text", text("hello"), "line 1: is text; write MESS:"},
	{"number", text("5"), "line 1: is a number"},
	{"true", text("true"), "line 1: "},
	{"list of texts", text("- a\n- b\n"), "line 1: [0]: is text"},
	{"list in a list", text("- - cancel: {re: a}\n"), "line 1: [0]: is a list"},
	{"item without a type", text("- {}\n"), "line 1: [0]: "},
	{"MESS is text", text("MESS: hello\n"), "line 1: MESS: is text; write a list"},
	{"MESS is nothing", text("MESS:\n"), "line 1: MESS: is nothing"},
	{"a mapping without a message", text("hello: world\n"), "line 1: the text has no message"},
	{"an empty mapping", text("{}"), "line 1: "},

	// Broken text.
	{"half a JSON", text(`{"MESS":[{"request":`), "line 1: not JSON: it ends too early"},
	{"two JSON texts", text("{\"MESS\":[]}\n{\"MESS\":[]}"), "line "},
	{"JSON and text", text(`{"MESS":[]} x`), "line 1: "},
	{"trailing comma in JSON", text(`{"MESS":[],}`), ""},
	{"open quote", text("- request: {intent: \"x\n"), ""},
	{"open bracket", text("- request: {intent: x\n"), ""},
	{"bad indentation", text("- request:\n    intent: x\n   id: y\n"), "line "},
}

func text(s string) func() string { return func() string { return s } }

// bomb returns ten levels of ten aliases.
func bomb() string {
	s := "a0: &a0 lol\n"
	for i := range 10 {
		s += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return s
}

func mergeBomb() string {
	s := "a0: &a0 {x: y}\n"
	for i := range 10 {
		s += fmt.Sprintf("a%d: &a%d\n  <<: [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return s
}

// block returns n nested mappings, one on each line.
func block(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func keys(n int, format, before, after string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return before + b.String() + after
}

// sized returns a valid message of n bytes.
func sized(n int) string {
	const head = "- cancel: {re: a}\n#"
	return head + strings.Repeat("x", n-len(head))
}

// placed matches the first line of an error: an optional position, the problem, and the
// remedy.
var placed = regexp.MustCompile(`^(line \d+: )?(\[\d+\][][\w.-]*: |MESS: )?\S`)

func TestHostileTexts(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			data := []byte(c.text())
			var m mess.Message
			var all []mess.Message
			var err error
			used := cost(func() { m, err = mess.Parse(data) })
			if err == nil {
				t.Fatal("no error")
			}
			if !cmp.Equal(m, mess.Message{}) {
				t.Error("Parse returns an error and a message")
			}
			if all, err = mess.ParseAll(data); err == nil || all != nil {
				t.Errorf("ParseAll gives %d messages, %v", len(all), err)
			}
			checkError(t, err, c.want)
			// A text of 64 KiB becomes nodes of some hundred bytes each, three times.
			if limit := uint64(64<<20 + 2*len(data)); used.bytes > limit {
				t.Errorf("%d bytes were allocated for a text of %d", used.bytes, len(data))
			}
			if used.took > 10*time.Second {
				t.Errorf("parsing took %v, want 10s at most", used.took)
			}
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	ps, ok := errors.AsType[mess.Problems](err)
	if !ok || len(ps) == 0 {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	text := err.Error()
	first, _, _ := strings.Cut(text, "\n")
	if !strings.Contains(first, want) || !placed.MatchString(first) {
		t.Errorf("got %.200q, want it to contain %q", first, want)
	}
	if len(text) > 16<<10 || strings.Contains(text, "\x00") {
		t.Errorf("an error of %d bytes: %.200q", len(text), text)
	}
}

// used contains the cost of a call.
type used struct {
	bytes uint64
	took  time.Duration
}

func cost(f func()) used {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return used{after.TotalAlloc - before.TotalAlloc, took}
}

// Texts at the limits are valid.
func TestLargeTextsAreValid(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	var before mess.Message
	for _, c := range []struct{ name, text string }{
		{"64 KiB", sized(64 << 10)},
		{"10 MB image in YAML", "- response: {re: a, content: [image: 'data:image/png;base64," + strings.Repeat("A", 10_000_000) + "']}"},
		{"the same in JSON", `[{"response":{"re":"a","content":[{"image":"data:image/png;base64,` + strings.Repeat("A", 10_000_000) + `"}]}}]`},
		{"1 MB image in a block", "- response:\n    re: a\n    content:\n      - image: data:image/png;base64," + strings.Repeat("A", 1_000_000) + "\n"},
		{"ten images", `[{"response":{"re":"a","content":[{"image":"data:image/png;base64,` +
			strings.Join(slices.Repeat([]string{strings.Repeat("A", 100_000)}, 10), `"},{"image":"data:image/png;base64,`) + `"}]}}]`},
		{"JSON with escaped slashes", `[{"response":{"re":"a","content":[{"image":"data:image\/png;base64,` + strings.Repeat(`AAA\/`, 200_000) + `"}]}}]`},
		{"1,000 keys", keys(1000, "    k%d: 1\n", "- odd:\n", "")},
		{"30 deep", "- odd: " + strings.Repeat("[", 29) + strings.Repeat("]", 29)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m mess.Message
			used := cost(func() { m = parse(t, []byte(c.text)) })
			if limit := uint64(64<<20 + 12*len(c.text)); used.bytes > limit {
				t.Errorf("%d bytes were allocated for a text of %d", used.bytes, len(c.text))
			}
			if c.name == "the same in JSON" { // the message has been printed and parsed again
				if !reflect.DeepEqual(m, before) {
					t.Error("the message is another")
				}
				return
			}
			before = m
			js, err := m.JSON()
			if err != nil {
				t.Fatal(err)
			}
			y, err := m.YAML()
			if err != nil {
				t.Fatal(err)
			}
			for _, printed := range [][]byte{js, y} { // cmp.Equal needs twice the time for each level
				if again := parse(t, printed); !reflect.DeepEqual(m, again) {
					t.Errorf("the message is not the same after printing")
				}
			}
		})
	}
}

// Validate reports many problems, up to a limit.
func TestManyProblems(t *testing.T) {
	_, err := mess.Parse([]byte("- request: {intent: x, requires: [" + strings.Repeat("[],", 5000) + "a]}\n"))
	if err == nil {
		t.Fatal("no error")
	}
	if n := strings.Count(err.Error(), "\n"); n < 10 || len(err.Error()) > 16<<10 {
		t.Errorf("%d lines, %d bytes", n, len(err.Error()))
	}
}

// The YAML library omits the line number 1.
func TestEveryYAMLErrorHasALine(t *testing.T) {
	for _, c := range []struct {
		name string
		text func() string
		want string
	}{
		{"60,000 deep, YAML flow mappings", text("- " + strings.Repeat("{a: ", 15_000)), "line 1: "},
		{"30,000 deep, YAML block lists", text(strings.Repeat("- ", 30_000) + "x"), "line 1: "},
		{"60,000 question marks", text(strings.Repeat("? ", 30_000)), "line 1: "},
		{"two values", text("a: b: c\n"), "line 1: not YAML"},
	} {
		_, err := mess.Parse([]byte(c.text()))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to begin with %q", c.name, err, c.want)
		}
	}
}

// An incomplete character in stored text, or from another server, does not make the rest
// unreadable.
func TestIncompleteCharacterIsReadable(t *testing.T) {
	var m mess.Message
	if err := m.UnmarshalJSON([]byte(`{"MESS":[{"request":{"intent":"x \ud800"}}]}`)); err != nil || len(m.Items) != 1 || m.Items[0].(*mess.Request).Intent != "x \ufffd" {
		t.Errorf("%+v, %v", m, err)
	}
}
