package messkit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDecisions checks the form of docs/decisions. Every record must have a title and the three
// sections in order, at most 40 lines, and no wide line. The index must name every record, and
// its table of earlier numbers must name only existing records.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("docs/decisions/[0-9]*.md")
	if err != nil || len(files) == 0 || len(files) > 40 {
		t.Fatalf("docs/decisions has %d records (%v); want 1 to 40", len(files), err)
	}
	index, err := os.ReadFile("docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var numbers []string
	for i, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkRecord(t, string(text))
			if want := fmt.Sprintf("%02d-", i+1); !strings.HasPrefix(name, want) {
				t.Errorf("the name does not begin with %s", want)
			}
			if n := strings.Count(string(index), "]("+name+")"); n != 1 {
				t.Errorf("docs/decisions/README.md links to it %d times; want 1", n)
			}
		})
		numbers = append(numbers, name[:2])
	}
	earlier := map[string]bool{}
	for _, m := range regexp.MustCompile(`\| (\d{4}) \| (\d\d) `).FindAllStringSubmatch(string(index), -1) {
		if earlier[m[1]] {
			t.Errorf("docs/decisions/README.md maps %s twice", m[1])
		}
		if !slices.Contains(numbers, m[2]) {
			t.Errorf("docs/decisions/README.md maps %s to %s, which does not exist", m[1], m[2])
		}
		earlier[m[1]] = true
	}
	if len(earlier) < 112 {
		t.Errorf("docs/decisions/README.md maps %d earlier numbers; want at least 112", len(earlier))
	}
}

// checkRecord checks title, sections and size of one record.
func checkRecord(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("%d lines; want at most 40", len(lines))
	}
	var headings []string
	for i, line := range lines {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("line %d has %d columns; want at most 100", i+1, utf8.RuneCountInString(line))
		}
		if strings.HasPrefix(line, "#") {
			headings = append(headings, line)
		}
	}
	if len(headings) == 0 || !strings.HasPrefix(headings[0], "# ") ||
		!slices.Equal(headings[1:], []string{"## Context", "## Decision", "## Consequences"}) {
		t.Errorf("the headings are %q; want a title and Context, Decision, Consequences", headings)
	}
}
