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
	if err := j.Run("first"); err != nil || !j.RunBy("first") || !j.RunBy("of an earlier version") {
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
	if err := j.Run("second"); err != nil || !j.RunBy("first") || !j.RunBy("second") || j.RunBy("stranger") {
		t.Errorf("the second run: %v", err)
	}
	for i := range 100 { // it does not grow
		err = errors.Join(err, j.Run(strconv.Itoa(i)))
	}
	if err != nil || j.RunBy("first") || !j.RunBy("99") {
		t.Errorf("after many runs: %v", err)
	}
	again()
	if err := os.WriteFile(filepath.Join(dir, "runs"), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := j.Run("last"); err != nil || j.RunBy("99") || !j.RunBy("last") {
		t.Errorf("after damage: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
