//go:build !linux

package clock

// synced believes the clock: what runs this beside Linux are computers with a
// clock of their own.
func synced() (bool, error) { return true, nil }
