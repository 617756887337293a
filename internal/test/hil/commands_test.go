package hil_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// MissingError reports a program or file that this machine does not have.
type MissingError struct {
	What string // "qemu-system-x86_64"
	How  string // how to get it
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s (%s)", e.What, e.How) }

// need returns a MissingError if a program is not installed.
func need(program, how string) error {
	if _, err := exec.LookPath(program); err != nil {
		return &MissingError{program, how}
	}
	return nil
}

// Cache returns the folder for kernels: HIL_CACHE, or a folder in the user's cache. It makes the
// folder.
func Cache() (string, error) {
	dir := os.Getenv("HIL_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w; set HIL_CACHE", err)
		}
		dir = filepath.Join(base, "messkit-hil")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// run runs a command and returns its output. An error includes the standard error output.
func run(dir, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w: %s", name, err, failed.Stderr)
	}
	return out, err
}
