package child

import "syscall"

// endWithParent has the kernel end the program if this process dies.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGTERM }
