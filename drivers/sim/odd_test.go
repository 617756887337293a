//go:build unix

package sim_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// A pipe without a reader as the file of a line does not block the driver.
func TestPipeAsLineDoesNotBlock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "line")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	lamp, err := open(&drivers.Shared{}, "sim-lamp", "file: "+name)
	if err != nil {
		t.Fatal(err)
	}
	const why = "is neither a folder nor a regular file"
	if err := lamp.Start(); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("Start: %v", err)
	}
	if _, err := kind("sim-lamp").RunWatchdogCommand(orders(lamp).Off); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("Obey: %v", err)
	}
	if err := lamp.Halt(); err == nil {
		t.Error("Halt of a faulty lamp succeeds, want an error")
	}
}
