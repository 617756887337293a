//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// own makes a process the head of a group of its own, which is killed as a whole.
func own(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
