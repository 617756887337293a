package watchdog

import "golang.org/x/sys/unix"

// admit lets the watchdog duplicate descriptors of this process. It needs them for the GPIO lines
// of a frozen process. Without the Yama security module each process of this user may do so.
func admit(guard int) {
	_ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(guard), 0, 0, 0) // it fails without Yama, which then allows it anyway
}
