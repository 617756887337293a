package drivers

import (
	"context"
	"time"
)

// MaxLease is the longest time that something moves for without being told
// again. Nobody can run far from a rover in half a second.
const MaxLease = 500 * time.Millisecond

// Mover moves about for as long as it is told to, again and again. Whoever moves
// it renews its lease, and stops it at the end until that has worked.
type Mover interface {
	// Move has it move as told, for lease at most from now on, where the device or
	// its driver keeps that time. It returns when the device has taken it.
	Move(ctx context.Context, m Motion, lease time.Duration) error
	// Still stops it, and returns when it has stopped. It works at any time between
	// Start and Halt.
	Still(ctx context.Context) error
}

// Motion is how something moves. The zero value is no motion.
type Motion struct {
	Forward float64 // m/s; backward below zero
	Turn    float64 // rad/s, to the left; to the right below zero
}
