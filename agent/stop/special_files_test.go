//go:build unix

package stop_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/stop"
)

// An object in place of the latch that is not a file counts as a stop, and delays neither the
// start, nor a reader, nor the reset.
func TestIrregularLatchFileIsLatched(t *testing.T) {
	for name, put := range map[string]func(latch string) error{
		"a pipe": func(latch string) error { return syscall.Mkfifo(latch, 0o600) },
		"a link to a pipe": func(latch string) error {
			return errors.Join(syscall.Mkfifo(latch+"~", 0o600), os.Symlink(latch+"~", latch))
		},
		"a link to nothing":  func(latch string) error { return os.Symlink("nothing", latch) },
		"a link to a device": func(latch string) error { return os.Symlink("/dev/zero", latch) },
		"a huge file": func(latch string) error {
			return errors.Join(os.WriteFile(latch, nil, 0o600), os.Truncate(latch, 1<<40))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, g := t.TempDir(), newFakePolicy()
			if err := put(filepath.Join(dir, "latched.json")); err != nil {
				t.Skip(err)
			}
			for _, file := range []string{"cleared.json", "report.json"} {
				if err := syscall.Mkfifo(filepath.Join(dir, file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := stop.ReadReport(dir); err == nil {
				t.Error("a pipe was read")
			}
			s, _ := run(t, stop.Config{Dir: dir}, g)
			if reason, _ := g.Watch(); !strings.Contains(reason, "is unreadable") {
				t.Errorf("stopped for %q", reason)
			}
			s.Stop(stop.Order{ID: "a", Reason: "smoke"})
			waitUntilWritten(t, s)
			if _, err := stop.Reset(dir, "teague", time.Now()); err != nil {
				t.Error(err)
			}
			g.waitForReason(t, "")
		})
	}
}
