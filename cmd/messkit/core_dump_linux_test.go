package main

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// A crash writes no file with the keys from memory.
func TestCrashWritesNoCoreDump(t *testing.T) {
	p, err := start(t.TempDir(), buildMesskit(t), "run", "--listen", "127.0.0.1:0", "--mqtt", "off")
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`(?m)^Max core file size +0 +0 `).Match(limits) {
		t.Errorf("%v\n%s", err, limits)
	}
	if err := p.stop(); err != nil {
		t.Errorf("%v\n%s", err, &p.stderr)
	}
}
