package mess_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var extract = flag.Bool("extract", false, "write the documents' examples to testdata/vectors")

// documents maps versions to protocol documents. They are not part of the module; if they
// exist next to it, the test compares testdata with them.
var documents = map[string]string{
	"1.0": "../../shared/specs/mess-1.0.md",
	"1.1": "../../shared/specs/mess-1.1.md",
}

// example is a block in a document.
type example struct {
	section string // 4.2; 0 before section 1; or appendix
	lines   []string
	text    bool // not YAML: a diagram or a pattern
}

func TestNoExampleIsMissing(t *testing.T) {
	for version, name := range documents {
		doc, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("the documents are not beside the module")
		} else if err != nil {
			t.Fatal(err)
		}
		want := files(version, string(doc))
		if len(want) == 0 {
			t.Fatalf("%s: no examples found", name)
		}
		dir := filepath.Join("testdata", "vectors", version)
		if *extract {
			write(t, dir, want)
		}
		if got := strings.Count("\n"+strings.Join(slices.Collect(maps.Values(want)), "\n"), "\nMESS:"); got != strings.Count(string(doc), "\nMESS:") {
			t.Errorf("%s: %d messages found, %d lines MESS: are there", name, got, strings.Count(string(doc), "\nMESS:"))
		}
		if diff := cmp.Diff(want, readAll(t, dir)); diff != "" {
			t.Errorf("%s and %s differ; run go test -run TestNoExampleIsMissing -extract (-document +testdata):\n%s", name, dir, diff)
		}
	}
}

func write(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readAll(t testing.TB, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no vectors there (%v)", dir, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(name)] = string(text)
	}
	return got
}

// files returns the vectors of a document: names and texts.
func files(version, doc string) map[string]string {
	all, counts := map[string]string{}, map[string]int{}
	for _, e := range examples(doc) {
		counts[e.section]++
		name := fmt.Sprintf("%s-%d", e.section, counts[e.section])
		head := fmt.Sprintf("# MESS %s section %s, example %d", version, e.section, counts[e.section])
		if e.text {
			all[name+".txt"] = head + "\n" + strings.Join(e.lines, "\n") + "\n"
			continue
		}
		pieces := pieces(e.lines)
		for i, p := range pieces {
			part, about := "", ""
			if len(pieces) > 1 {
				part, about = string(rune('a'+i)), fmt.Sprintf(", part %d", i+1)
			}
			all[name+part+".yaml"] = head + about + "\n" + marks(version, name, p) + strings.Join(p, "\n") + "\n"
		}
	}
	return all
}

// schemas lists the examples that contain a word such as "string" in place of a value.
var schemas = []string{
	"1.0/1-1", "1.0/3.2-1", "1.0/4.1-1", "1.0/4.3-1", "1.0/5.1-1", "1.0/6.1-1", "1.0/7.1-1", "1.0/7.2-1",
	"1.0/7.2-2", "1.0/7.3-1", "1.0/7.4-1", "1.0/7.5-1", "1.0/10-1", "1.1/4-1",
}

// wraps maps the first key of a fragment to the text that makes it a whole message.
var wraps = map[string]string{
	"MESS": "", "context": "context and content", "content": "response", "response_hint": "request", "requires": "request",
	"capabilities": "executor", "waiting_for": "status", "location": "entry", "confirmation": "entry",
	"version": "structured", "id": "structured",
}

// marks returns the comment lines that describe a piece.
func marks(version, name string, piece []string) string {
	var marks string
	for _, line := range piece {
		key, _, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if wrap, known := wraps[key]; !known {
			marks += "# wrap: unknown\n"
		} else if wrap != "" {
			marks += "# wrap: " + wrap + "\n"
		}
		break
	}
	if slices.Contains(schemas, version+"/"+name) {
		marks += "# schema\n"
	}
	return marks
}

// pieces splits an example at blank lines before the first column, where another message or
// fragment begins.
func pieces(lines []string) [][]string {
	var all [][]string
	start := 0
	for i := 1; i < len(lines); i++ {
		if lines[i-1] == "" && lines[i] != "" && lines[i][0] != ' ' {
			all = append(all, trim(lines[start:i]))
			start = i
		}
	}
	return append(all, trim(lines[start:]))
}

func trim(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// examples returns the fenced blocks of a document. In a document without fences (1.1 is
// plain text), a block begins with the first key of a message or fragment, and ends at the
// next prose.
func examples(doc string) []example {
	lines := strings.Split(doc, "\n")
	if strings.Contains(doc, "\n```") {
		return fenced(lines)
	}
	var all []example
	section := "0"
	for i := 0; i < len(lines); i++ {
		if !begins(lines, i) {
			section = sectionAt(lines[i], section)
			continue
		}
		end := i + 1
		for end < len(lines) && goesOn(lines, end) {
			end++
		}
		all = append(all, example{section: section, lines: trim(lines[i:end])})
		i = end - 1
	}
	return all
}

func fenced(lines []string) []example {
	var all []example
	section, open := "0", -1
	for i, line := range lines {
		switch fence := strings.HasPrefix(line, "```"); {
		case fence && open < 0:
			open = i
		case fence:
			all = append(all, example{section, trim(lines[open+1 : i]), lines[open] == "```"})
			open = -1
		case open < 0:
			section = sectionAt(line, section)
		}
	}
	return all
}

var (
	heading  = regexp.MustCompile(`^(?:#{2,3} )?(\d+(?:\.\d+)?)\.? \S`)
	appendix = regexp.MustCompile(`^(?:## )?Appendix:`)
	firstKey = regexp.MustCompile(`^(` + strings.Join(slices.Sorted(maps.Keys(wraps)), "|") + `):(\s|$)`)
	anyKey   = regexp.MustCompile(`^([a-z_]+|MESS):(\s|$)`)
)

func sectionAt(line, before string) string {
	if m := heading.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if appendix.MatchString(line) {
		return "appendix"
	}
	return before
}

func begins(lines []string, i int) bool {
	comment := strings.HasPrefix(lines[i], "# ") && i+1 < len(lines)
	return firstKey.MatchString(lines[i]) || comment && firstKey.MatchString(lines[i+1])
}

func goesOn(lines []string, i int) bool {
	for i < len(lines) && lines[i] == "" {
		i++
	}
	return i < len(lines) && (lines[i] == "---" || strings.HasPrefix(lines[i], " ") || strings.HasPrefix(lines[i], "# ") || anyKey.MatchString(lines[i]))
}
