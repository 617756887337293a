package drivers

import (
	"context"
	"fmt"
	"strings"
)

// Turner turns something to an angle, and holds it there: a servo.
type Turner interface {
	// TurnTo returns when it is there, by what the device tells or by the time that
	// it needs. When ctx ends before that it is told nothing more. An angle outside of
	// Turns is ErrNothingDone.
	TurnTo(ctx context.Context, degrees float64) error
	// Turns are the angles that it may be turned to; the same always.
	Turns() Turns
}

// AngleReader reads back from what turns, in degrees, where it is. What only knows
// where it was told to be must not have this verb.
type AngleReader interface {
	Angle(ctx context.Context) (float64, error)
}

// Turns are the angles that something may be turned to, both ends included, and
// those with a name.
type Turns struct {
	Min, Max  float64 // degrees
	Positions []Position
}

// Position is an angle with a name: "left", "the door".
type Position struct {
	Name    string
	Degrees float64
}

// Check is the error for an angle outside of the limits.
func (t Turns) Check(degrees float64) error {
	if degrees >= t.Min && degrees <= t.Max { // so that NaN is refused
		return nil
	}
	return NotDone(fmt.Errorf("%g degrees is not within its limits, %g to %g", degrees, t.Min, t.Max))
}

// Named is the angle of a name, in whatever case.
func (t Turns) Named(name string) (degrees float64, ok bool) {
	for _, p := range t.Positions {
		if strings.EqualFold(p.Name, name) {
			return p.Degrees, true
		}
	}
	return 0, false
}
