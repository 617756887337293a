//go:build unix

package localpolicy_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/messkit/messkit/agent/localpolicy"
)

// An object in place of the file that is not a file makes the decisions unknown, and delays no
// caller.
func TestIrregularDecisionFileIsUnknown(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"a pipe":            func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a link to nothing": func(name string) error { return os.Symlink("nothing", name) },
		"a device":          func(name string) error { return os.Symlink("/dev/zero", name) },
		"a huge file":       func(name string) error { return os.WriteFile(name, make([]byte, 1<<20+1), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := localpolicy.In(dir)
			must(t, os.Mkdir(filepath.Join(dir, "admin"), 0o700), put(filepath.Join(dir, "admin", "decisions")))
			if f.Decisions().Unknown == "" {
				t.Error("decisions of an irregular file are known, want unknown")
			}
			if err := f.LockOut("lamp", "", noon); err == nil {
				t.Error("LockOut replaces an irregular file, want an error")
			}
			begin(t, f) // the program starts and may not act
			must(t, f.ResetDecisions())
			if l := f.Decisions(); l.Unknown != "" {
				t.Errorf("after a reset: %+v", l)
			}
		})
	}
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "admin"), 0o700), syscall.Mkfifo(filepath.Join(dir, "admin", "running"), 0o600))
	if err := localpolicy.In(dir).Run(risky, nil, now).Begin(); err == nil {
		t.Error("a run has begun although the end of the previous run is unknown")
	}
}
