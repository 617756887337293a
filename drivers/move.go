package drivers

import (
	"context"
	"time"
)

// MaxLease is the longest time that a device moves without a new command. In half a second
// a rover cannot run far.
const MaxLease = 500 * time.Millisecond

// Mover moves for as long as its caller renews the lease. The caller must stop the device
// at the end and repeat the stop until it succeeds.
type Mover interface {
	// Move moves the device for at most lease from now on. The device or its driver
	// enforces that time. Move returns when the device has accepted the command.
	Move(ctx context.Context, m Motion, lease time.Duration) error
	// StopMoving stops the device and returns when it has stopped. A caller may call it at any
	// time between Start and Halt.
	StopMoving(ctx context.Context) error
}

// Motion is a velocity. The zero value is no motion.
type Motion struct {
	Forward float64 // m/s; negative is backward
	Turn    float64 // rad/s to the left; negative is to the right
}
