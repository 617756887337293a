package durable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/durable"
)

// MkdirAll syncs the parent of each new folder after making it.
func TestMkdirAllSyncsParents(t *testing.T) {
	if dir := os.Getenv("MKDIR_ALL"); dir != "" { // under strace
		if err := durable.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs strace")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is missing (Debian: strace)")
	}
	top := t.TempDir()
	dir := filepath.Join(top, "data", "log")
	cmd := exec.Command(strace, "-f", "-y", "-e", "trace=mkdirat,mkdir,fsync", os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "MKDIR_ALL="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("strace may not trace here: %v, %s", err, out)
	}
	_, after, made := strings.Cut(string(out), dir+"\", 0700)")
	for _, parent := range []string{top, filepath.Dir(dir)} {
		if !made || !strings.Contains(after, "<"+parent+">)") {
			t.Errorf("%s is not synced after its folder was made:\n%s", parent, out)
		}
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		t.Errorf("again: %v", err)
	}
}
