package child

import "syscall"

// endWithParent has the kernel kill the program if this process dies. A program that ends gracefully could
// wait for another one that ends too.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
