package fleet

import "syscall"

// endWithParent has the system end the exchange if simulate-fleet dies.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGTERM }
