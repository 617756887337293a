//go:build !linux

package clock

// synced trusts the clock: other systems than Linux run on computers with a battery clock.
func synced() (bool, error) { return true, nil }
