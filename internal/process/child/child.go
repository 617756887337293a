// Package child starts programs that end with this one, also if it is killed.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts a program in a process group of its own, so that a signal from a terminal does not
// reach it. On Linux the kernel kills it if this process dies. ended gets its result once.
// The caller must not change c.SysProcAttr.
func Start(c *exec.Cmd) (ended <-chan error, err error) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(c.SysProcAttr)
	started, result := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // without an unlock: the kernel ends the program together with this thread
		err := c.Start()
		started <- err
		if err == nil {
			result <- c.Wait()
		}
	}()
	return result, <-started
}
