package drivers

import (
	"context"
	"fmt"
	"strings"
)

// Turner turns a device to an angle and holds it there: a servo.
type Turner interface {
	// TurnTo returns when the device has reached the angle, by its report or by the time
	// that it needs. When ctx ends before that, the driver sends no further command. TurnTo
	// returns ErrNothingDone for an angle outside of Turns.
	TurnTo(ctx context.Context, degrees float64) error
	// Turns returns the allowed angles. They never change.
	Turns() Turns
}

// AngleReader reads back from the device its present angle in degrees. A driver that only
// remembers the last command must not implement this interface.
type AngleReader interface {
	Angle(ctx context.Context) (float64, error)
}

// Turns contains the allowed angles, both ends included, and the named angles.
type Turns struct {
	Min, Max  float64 // degrees
	Positions []Position
}

// Position is an angle with a name: "left", "the door".
type Position struct {
	Name    string
	Degrees float64
}

// Check returns an error for an angle outside of the limits.
func (t Turns) Check(degrees float64) error {
	if degrees >= t.Min && degrees <= t.Max { // this form rejects NaN
		return nil
	}
	return NotDone(fmt.Errorf("%g degrees is outside of the limits of the device, %g to %g", degrees, t.Min, t.Max))
}

// Named returns the angle with this name, in upper or lower case.
func (t Turns) Named(name string) (degrees float64, ok bool) {
	for _, p := range t.Positions {
		if strings.EqualFold(p.Name, name) {
			return p.Degrees, true
		}
	}
	return 0, false
}
