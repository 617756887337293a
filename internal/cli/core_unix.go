//go:build unix

package cli

import "syscall"

// withoutCore keeps this process and what it starts from writing its memory to a file
// when it crashes: keys are in it.
func withoutCore() {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // to lower a limit is always allowed
}
