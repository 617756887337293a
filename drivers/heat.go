package drivers

import (
	"context"
	"fmt"
	"math"
)

// Thermostat keeps a temperature while it is switched on.
type Thermostat interface {
	// SetTarget sets the temperature that it is to keep, in °C, and returns when the
	// device says so. Whether it is on stays as it is. What is outside of Targets is
	// ErrNothingDone.
	SetTarget(ctx context.Context, celsius float64) error
	// Targets are the temperatures that it may be set to; the same always.
	Targets() Targets
}

// TargetReader reads back from the device which temperature it is to keep, in °C.
type TargetReader interface {
	Target(ctx context.Context) (float64, error)
}

// Targets are the temperatures that something may be set to, both ends included.
type Targets struct{ Min, Max float64 } // °C

// TargetWithin is how far from what it was told a thermostat may be set, in °C: many
// count in half or whole degrees, of Celsius or of Fahrenheit.
const TargetWithin = 0.5

// Check is the error for a temperature outside of the limits.
func (t Targets) Check(celsius float64) error {
	if celsius >= t.Min && celsius <= t.Max { // so that NaN is refused
		return nil
	}
	return NotDone(fmt.Errorf("%g °C is not within its limits, %g to %g", celsius, t.Min, t.Max))
}

// Fahrenheit is a temperature in °C as one in °F, and Celsius the other way, each to
// a tenth of a degree.
func Fahrenheit(celsius float64) float64 { return math.Round((celsius*1.8+32)*10) / 10 }

// Celsius is a temperature in °F as one in °C.
func Celsius(fahrenheit float64) float64 { return math.Round((fahrenheit-32)/1.8*10) / 10 }
