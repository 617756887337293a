package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/mess"
)

var watchRequests = regexp.MustCompile(`messkit ask "([^"]+)"`)

// Each request on the page leads to a wait in the simulated home, and the configuration on the
// page is valid.
func TestDocumentedWaitsRun(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	r := simulatedInterpreter(t)
	requests := watchRequests.FindAllStringSubmatch(string(text), -1)
	for _, m := range requests {
		out := r.Resolve(mess.Request{Intent: m[1]})
		if out.Plan == nil {
			t.Errorf("%q: %+v %+v", m[1], out.Question, out.Refusal)
			continue
		}
		if steps := out.Plan.Each(); !steps[len(steps)-1].Command.IsWait() {
			t.Errorf("%q: %s", m[1], out.Plan.Summary)
		}
	}
	blocks := 0
	for _, b := range mailBlocks.FindAllStringSubmatch(string(text), -1) {
		if b[1] != "yaml" {
			continue
		}
		blocks++
		file := filepath.Join(t.TempDir(), "messkit.yaml")
		if err := os.WriteFile(file, []byte(b[2]), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.LoadConfig(file, output.NoLog); err != nil {
			t.Errorf("%v\n%s", err, b[2])
		}
	}
	if len(requests) < 3 || blocks == 0 {
		t.Fatal("the page does not begin with examples")
	}
}
