package drivers

import "context"

// Inspector checks whether a device exists and is free, while it is started or halted. It
// is for devices whose state cannot be read without a change: a GPIO line becomes an output
// as soon as a process requests it.
type Inspector interface {
	// Inspect occupies and changes nothing. what describes the device that it found.
	Inspect(ctx context.Context) (what string, err error)
}
