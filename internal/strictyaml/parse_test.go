package strictyaml_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/internal/strictyaml"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"scalars", "[a, 1, -0.50, 1e3, true, ~, '5', \"no\"]", `["a",1,-0.50,1e3,true,null,"5","no"]`},
		{"what only looks like something", "- no\n- 007\n- 0x1F\n- 1_000\n- .inf\n- 2026-01-31\n- 12:30\n- +5\n", `["no","007","0x1F","1_000",".inf","2026-01-31","12:30","+5"]`},
		{"order is kept", "z: 1\na: 2\n", `{"z":1,"a":2}`},
		{"keys are text", "1: a\ntrue: b\n? c\n: d\n", `{"1":"a","true":"b","c":"d"}`},
		{"blocks", "a: |\n  x\n  y\nb: >-\n  x\n  y\n", `{"a":"x\ny\n","b":"x y"}`},
		{"flow that is no JSON", "{a: b, c: [d]}", `{"a":"b","c":["d"]}`},
		{"JSON", "\n {\"a\": [1.50, \"\\u00e9\\/\", {}]} ", `{"a":[1.50,"é/",{}]}`},
		{"byte order mark", "\xef\xbb\xbfa: 1\r\n", `{"a":1}`},
		{"big numbers", "[123456789012345678901234567890, 1.10]", `[123456789012345678901234567890,1.10]`},
	} {
		docs, err := strictyaml.Parse([]byte(c.text), strictyaml.Message)
		if err != nil || len(docs) != 1 {
			t.Errorf("%s: %d documents, %v", c.name, len(docs), err)
			continue
		}
		if got := string(strictyaml.JSON(docs[0])); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDocuments(t *testing.T) {
	for text, want := range map[string]int{"": 0, "# nothing\n": 0, "---\n": 0, "a": 1, "a: 1\n---\nb: 2\n...\n---\n- c\n": 3} {
		docs, err := strictyaml.Parse([]byte(text), strictyaml.Message)
		if err != nil || len(docs) != want {
			t.Errorf("%q: %d documents, %v; want %d", text, len(docs), err, want)
		}
	}
}

func TestParseRejectsInvalidYAML(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	var keys strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	jsonKeys := "{" + strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(keys.String(), "k", `"k`), ": 1\n", `":1,`), ",") + "}"
	for _, c := range []struct{ name, text, want string }{
		{"anchors and aliases", bomb, "line 1: an anchor (&a)"},
		{"a lone alias", "a: *b\n", "unknown anchor"},
		{"tags", "a: !!binary aGk=\n", "line 1: a tag (!!binary)"},
		{"merge keys", "a: 1\n<<: {b: 2}\n", "line 2: a merge key"},
		{"the same key twice", "a: 1\nb: 2\na: 3\n", `line 3: "a" is here twice, first on line 1`},
		{"the same key twice in JSON", "{\"a\": 1,\n\"a\": 2}", `line 2: "a" is here twice`},
		{"many keys", keys.String(), "a mapping with 1001 keys"},
		{"many keys in JSON", jsonKeys, "a mapping with more than 1000 keys"},
		{"a list as key", "? [a, b]\n: c\n", "a key that is not plain text"},
		{"flow depth", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested more than 32 deep"},
		{"flow depth without end", strings.Repeat("{a: ", 15000), "not JSON"},
		{"block depth", nested(100), "nested more than 32 deep"},
		{"NUL", "a: x\nb: \x00\n", "line 2: a NUL byte"},
		{"an escaped NUL", `a: "x\0"`, "a NUL character"},
		{"an escaped NUL in JSON", `{"a": "\u0000"}`, "a NUL character"},
		{"not UTF-8", "a: 1\nb: \xff\n", "line 2: not UTF-8"},
		{"a megabyte", "a: " + strings.Repeat("x", 1<<20), "bytes apart from data URIs are too many"},
		{"a megabyte of key", strings.Repeat("x", 1<<20) + ": a", "bytes apart from data URIs are too many"},
		{"eleven megabytes", "a: data:image/png;base64," + strings.Repeat("A", 11<<20), "the limit is 10485760"},
		{"out of range", "a: 1e999999\n", "out of range"},
		{"out of range in JSON", `{"a": 1e999999}`, "out of range"},
		{"cut off", `{"a": [1, 2`, "ends too early"},
		{"more after the end", `{"a": 1} {"b": 2}`, "more after the end"},
		{"tabs", "a:\n\tb: 1\n", "not with tabs"},
		{"control characters", "a: \x01\n", "control characters"},
	} {
		docs, err := strictyaml.Parse([]byte(c.text), strictyaml.Message)
		if err == nil || !strings.Contains(err.Error(), c.want) || docs != nil {
			t.Errorf("%s: got %v, %.200v; want %q", c.name, docs, err, c.want)
		}
	}
}

func nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

// A data URI does not count for the limit of the text.
func TestDataURIsHaveOwnLimit(t *testing.T) {
	uri := "data:image/jpeg;base64," + strings.Repeat("AbC/", 1<<18)
	for _, text := range []string{"a: " + uri, `{"a": "` + strings.ReplaceAll(uri, "/", `\/`) + `"}`} {
		docs, err := strictyaml.Parse([]byte(text), strictyaml.Message)
		if err != nil {
			t.Fatal(err)
		}
		if got := docs[0].Get("a").Text; got != uri {
			t.Errorf("%d bytes came back of %d", len(got), len(uri))
		}
	}
}

// A message of 64 KB must not cost much time or memory, because an attacker could slow down the
// program. The bounds are far above the measured values, and far below a harmful cost.
func TestCostOfMessageIsBounded(t *testing.T) {
	const size = 64 << 10
	for name, text := range map[string]string{
		"brackets":   strings.Repeat("[", size),
		"braces":     strings.Repeat("{", size),
		"dashes":     strings.Repeat("- ", size/2),
		"questions":  strings.Repeat("? ", size/2),
		"keys":       strings.Repeat("a: ", size/3),
		"short list": strings.Repeat("- a\n", size/4),
		"flow list":  "[" + strings.Repeat("a,", size/2-1) + "]",
		"quotes":     strings.Repeat(`"`, size),
		"stars":      strings.Repeat("*a ", size/3),
		"anchors":    strings.Repeat("&a ", size/3),
		"comments":   strings.Repeat("#\n", size/2),
		"documents":  strings.Repeat("---\n", size/4),
		"pipes":      strings.Repeat("a: |\n", size/5),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := worked(t)
		_, _ = strictyaml.Parse([]byte(text), strictyaml.Message)
		took := worked(t) - start
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 || took > 5*time.Second {
			t.Errorf("%s: %v and %d MB", name, took, used>>20)
		}
		t.Logf("%-10s %v, %d KB", name, took, (after.TotalAlloc-before.TotalAlloc)>>10)
	}
}

// worked returns the CPU time of this process, which does not depend on the load of the machine.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Every parsed document stays the same through YAML and through JSON.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a: [1, 'x', no]", `{"a": "b\n c\t\u0085", "": null}`, "- |\n  a\n\n  b\n- 2026-01-31\n- 12:30:45\n- =\n", "a: {}\nb: []\n---\n- x",
		"\"\\e \\x7f\": ' '", "? a\n: - b", "[.5, 5., 0o7, 1e5, -0]",
	} {
		f.Add([]byte(s))
	}
	lines := cmpopts.IgnoreFields(strictyaml.Value{}, "Line", "Column")
	pairs := cmpopts.IgnoreFields(strictyaml.Pair{}, "Line", "Column")
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := strictyaml.Parse(data, strictyaml.Message)
		if err != nil {
			if docs != nil {
				t.Fatalf("%v, and documents", err)
			}
			return
		}
		for _, d := range docs {
			text := strictyaml.JSON(d)
			if !json.Valid(text) {
				t.Fatalf("not JSON: %s", text)
			}
			if d.Kind == strictyaml.List || d.Kind == strictyaml.Map {
				again, err := strictyaml.ParseJSON(text, strictyaml.Config)
				if diff := cmp.Diff(d, again, lines, pairs, cmpopts.EquateEmpty()); err != nil || diff != "" {
					t.Fatalf("JSON: %v %s\n%s", err, text, diff)
				}
			}
		}
		text, err := strictyaml.YAML(docs...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := strictyaml.Parse(text, strictyaml.Config)
		if diff := cmp.Diff(docs, again, lines, pairs, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("YAML: %v\n%s\n%s", err, bytes.ReplaceAll(text, []byte(" "), []byte("·")), diff)
		}
	})
}
