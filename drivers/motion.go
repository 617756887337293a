package drivers

import (
	"context"
	"fmt"
	"strings"
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

// Turner turns a device to an angle and holds it there: a servo.
type Turner interface {
	// TurnTo returns when the device has reached the angle, by its report or by the time
	// that it needs. When ctx ends before that, the driver sends no further command. TurnTo
	// returns ErrNothingDone for an angle outside of AngleLimits.
	TurnTo(ctx context.Context, degrees float64) error
	// AngleLimits returns the allowed angles. They never change.
	AngleLimits() AngleLimits
}

// AngleReader reads back from the device its present angle in degrees. A driver that only
// remembers the last command must not implement this interface.
type AngleReader interface {
	Angle(ctx context.Context) (float64, error)
}

// AngleLimits contains the allowed angles, both ends included, and the named angles.
type AngleLimits struct {
	Min, Max    float64 // degrees
	NamedAngles []NamedAngle
}

// NamedAngle is an angle with a name: "left", "the door".
type NamedAngle struct {
	Name    string
	Degrees float64
}

// Check returns an error for an angle outside of the limits.
func (l AngleLimits) Check(degrees float64) error {
	if degrees >= l.Min && degrees <= l.Max { // this form rejects NaN
		return nil
	}
	return MarkNothingDone(fmt.Errorf("%g degrees is outside of the limits of the device, %g to %g", degrees, l.Min, l.Max))
}

// NamedAngle returns the angle with this name, in upper or lower case.
func (l AngleLimits) NamedAngle(name string) (degrees float64, ok bool) {
	for _, p := range l.NamedAngles {
		if strings.EqualFold(p.Name, name) {
			return p.Degrees, true
		}
	}
	return 0, false
}
