//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a process group of its own, and kills the whole group on
// cancel.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
