// Package pagetest compares the lists of differences in the pages of docs/ with tests: each
// difference from a specification has a test that shows it.
package pagetest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// section is the heading above the differences of a page.
const section = "## Differences from the document that stay"

// Differences runs the test of each difference in a page, in the order of the page. It
// fails for a difference without a test and for a test without a difference.
func Differences(t *testing.T, page string, tests map[string]func(*testing.T)) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names, problems := Compare(string(text), slices.Sorted(maps.Keys(tests)))
	for _, problem := range problems {
		t.Errorf("%s: %s", page, problem)
	}
	for _, name := range names {
		if tests[name] != nil {
			t.Run(name, tests[name])
		}
	}
}

// Compare returns the differences in the text of a page: the bold beginnings of the list items
// below the heading. It also returns the deviations from the names of the tests.
func Compare(text string, tests []string) (names, problems []string) {
	_, text, _ = strings.Cut(text, section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			continue
		}
		name, _, named := strings.Cut(strings.TrimPrefix(item, "**"), ".** ")
		switch {
		case !named || slices.Contains(names, name):
			problems = append(problems, fmt.Sprintf("%q does not begin with a bold name of its own", item))
			continue
		case !slices.Contains(tests, name):
			problems = append(problems, fmt.Sprintf("%q has no test", name))
		}
		names = append(names, name)
	}
	for _, name := range tests {
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Sprintf("%q has a test, but is not on the page", name))
		}
	}
	return names, problems
}

// Elsewhere returns a test that fails unless the package in a folder has all the named tests.
// Those tests show the difference.
func Elsewhere(folder string, tests ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no tests: %v", folder, err)
		}
		var all strings.Builder
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
		for _, name := range tests {
			if !strings.Contains(all.String(), "\nfunc "+name+"(t *testing.T) {") {
				t.Errorf("%s has no %s", folder, name)
			}
		}
	}
}
