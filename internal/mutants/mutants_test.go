// Package mutants checks the tests with mutation testing. It plants faults in the source, one at
// a time, and for each of them an existing test must fail. It does not change the tree: the
// compiler gets changed copies of the files.
package mutants_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// mutant is a planted fault, with the tests that must fail.
type mutant struct {
	name  string // description of the fault
	edits []edit
	tests string // package, and pattern of the tests: "./agent TestCancelBetweenPermissionAndAct|TestCancelSwitchesOff|TestCancelBeforeStart|TestCancelDuringDeviceStart|TestCancelDuringAct"
}

// edit replaces a text that occurs exactly once in a file.
type edit struct {
	file, find, replace string
}

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// texts returns the changed files, by their names.
func (m mutant) texts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, e := range m.edits {
		name := filepath.Join(root(t), e.file)
		text, ok := texts[name]
		if !ok {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.find); n != 1 || e.find == e.replace {
			t.Fatalf("%s: %s: there %d times, and must be there once, and change: %q", m.name, e.file, n, e.find)
		}
		texts[name] = strings.Replace(text, e.find, e.replace, 1)
	}
	return texts
}

// overlay returns the path of the overlay file, with which the compiler replaces the changed
// files.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	dir, changed := t.TempDir(), map[string]string{}
	for name, text := range m.texts(t) {
		changed[name] = filepath.Join(dir, fmt.Sprint(len(changed), ".go"))
		if err := os.WriteFile(changed[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": changed})
	file := filepath.Join(dir, "overlay.json")
	if err := errors.Join(err, os.WriteFile(file, list, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs the go command on the mutant. Builds inside a test also use the mutant.
func (m mutant) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = root(t)
	c.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false -overlay="+m.overlay(t))
	out, err := c.CombinedOutput()
	return string(out), err
}

// red matches the output of go test for a failed test, and stuck the output without a run of the
// test.
var (
	red   = regexp.MustCompile(`(?m)^\s*--- FAIL: |^panic: |^fatal error: `)
	stuck = regexp.MustCompile(`\[(build|setup) failed\]|no tests to run|no test files`)
)

// allVariable is the environment variable for a test of every mutant.
const allVariable = "MESSKIT_MUTANTS"

// mutantsPerRun is the number of tested mutants without the variable.
const mutantsPerRun = 3

// A test fails with each planted fault. Without MESSKIT_MUTANTS the test tries a few random
// faults. TestMutantsAreGo always checks that all of them compile.
func TestMutants(t *testing.T) {
	if len(mutants) < 25 {
		t.Errorf("%d mutants, want 25 or more", len(mutants))
	}
	names := map[string]bool{}
	var planted, caught atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d of %d planted faults were caught; there are %d", caught.Load(), planted.Load(), len(mutants))
	})
	for i, n := range rand.Perm(len(mutants)) {
		m := mutants[n]
		if names[m.name] {
			t.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			switch {
			case os.Getenv(allVariable) != "":
			case testing.Short():
				t.Skip("compiles another messkit")
			case i >= mutantsPerRun:
				t.Skip("another time, or with " + allVariable + "=all")
			}
			t.Parallel()
			planted.Add(1)
			if m.caught(t) {
				caught.Add(1)
			}
		})
	}
}

// caught reports whether a test fails with the fault.
func (m mutant) caught(t *testing.T) bool {
	t.Helper()
	pkg, pattern, _ := strings.Cut(m.tests, " ")
	out, err := m.run(t, "test", "-vet=off", "-count=1", "-timeout=2m", "-run", pattern, pkg)
	switch {
	case stuck.MatchString(out):
		t.Errorf("cannot be tested: %s", out)
		return false
	case err == nil || !red.MatchString(out):
		t.Errorf("not caught by go test -run '%s' %s: %v\n%s", pattern, pkg, err, out)
		return false
	}
	t.Logf("caught by %s", strings.TrimSpace(red.FindString(out)+firstLine(out[red.FindStringIndex(out)[1]:])))
	return true
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
