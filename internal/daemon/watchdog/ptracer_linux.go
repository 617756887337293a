package watchdog

import "golang.org/x/sys/unix"

// admit lets a guard borrow this process's descriptors, which it needs for the
// GPIO lines of a process that is frozen. Where Yama is not there, everybody of
// this user may.
func admit(guard int) {
	_ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(guard), 0, 0, 0) // an error is that Yama is not there
}
