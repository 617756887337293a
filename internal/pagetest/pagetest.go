// Package pagetest compares the lists of differences in the pages of docs/ with tests: each
// difference from a specification has a test that shows it.
package pagetest

import (
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
	names := listed(t, page)
	for _, name := range names {
		if tests[name] == nil {
			t.Errorf("%s: %q has no test", page, name)
			continue
		}
		t.Run(name, tests[name])
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if !slices.Contains(names, name) {
			t.Errorf("%s: %q has a test, but is not on the page", page, name)
		}
	}
}

// listed returns the names of the differences: the bold beginnings of the list items.
func listed(t *testing.T, page string) (names []string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			continue
		}
		name, _, bold := strings.Cut(strings.TrimPrefix(item, "**"), ".** ")
		if !bold || slices.Contains(names, name) {
			t.Errorf("%s: %q does not begin with a bold name of its own", page, item)
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		t.Fatalf("%s has no list below %q", page, section)
	}
	return names
}

// Elsewhere returns a test that fails unless the package in a folder has all tests that
// are named. Those tests show the difference.
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
