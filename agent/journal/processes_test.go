package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/messkit/messkit/agent/journal"
)

func TestRuns(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Run(t.Context(), "first"); err != nil || !j.RunBy("first") || !j.RunBy("of an earlier version") {
		t.Errorf("the first run: %v", err)
	}
	again := func() {
		t.Helper()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if j, err = journal.Open(dir); err != nil {
			t.Fatal(err)
		}
	}
	again()
	if err := j.Run(t.Context(), "second"); err != nil || !j.RunBy("first") || !j.RunBy("second") || j.RunBy("stranger") {
		t.Errorf("the second run: %v", err)
	}
	for i := range 100 { // it does not grow
		err = errors.Join(err, j.Run(t.Context(), strconv.Itoa(i)))
	}
	if err != nil || j.RunBy("first") || !j.RunBy("99") {
		t.Errorf("after many runs: %v", err)
	}
	again()
	if err := j.Run(t.Context(), "last"); err != nil || !j.RunBy("99") || !j.RunBy("last") {
		t.Errorf("after all: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// The journal loads the names in the older format once and sets the file aside. An unreadable
// file counts as empty.
func TestRunsOfOlderVersion(t *testing.T) {
	for text, want := range map[string]bool{`["old","older"]`: true, "{torn": false} {
		dir := t.TempDir()
		j := open(t, dir)
		file := filepath.Join(dir, "runs")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		must(t, j.Run(t.Context(), "new"))
		if j.RunBy("old") != want || !j.RunBy("new") || j.RunBy("stranger") {
			t.Errorf("%s: old %t, new %t, stranger %t", text, j.RunBy("old"), j.RunBy("new"), j.RunBy("stranger"))
		}
		must(t, j.Close())
		must(t, os.WriteFile(file, []byte(`["stranger"]`), 0o600)) // from a backup
		j = open(t, dir)
		must(t, j.Run(t.Context(), "newer"))
		if j.RunBy("old") != want || j.RunBy("stranger") {
			t.Errorf("%s, again: old %t, stranger %t", text, j.RunBy("old"), j.RunBy("stranger"))
		}
	}
}
