//go:build !linux

package fleet

import "syscall"

// endWithParent does nothing: only Linux ends a process with its parent.
func endWithParent(*syscall.SysProcAttr) {}
