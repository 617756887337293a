//go:build unix

package cli

import "syscall"

// withoutCore turns off core dumps of this process and its children: their memory has keys.
func withoutCore() {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // every user may lower a limit
}
