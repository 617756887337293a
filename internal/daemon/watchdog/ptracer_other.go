//go:build unix && !linux

package watchdog

// admit does nothing: only Linux has GPIO descriptors to duplicate.
func admit(int) {}
