package drivers

import (
	"context"
	"fmt"
	"math"
)

// Thermostat maintains a temperature while it is on.
type Thermostat interface {
	// SetTarget sets the target temperature in °C and returns when the device confirms it.
	// It does not change whether the device is on. It returns ErrNothingDone for a value
	// outside of TargetRange.
	SetTarget(ctx context.Context, celsius float64) error
	// TargetRange returns the range of target temperatures. The range never changes.
	TargetRange() TargetRange
}

// TargetReader reads back from the device its target temperature in °C.
type TargetReader interface {
	Target(ctx context.Context) (float64, error)
}

// TargetRange is a range of target temperatures that includes both ends.
type TargetRange struct{ Min, Max float64 } // °C

// TargetTolerance is the largest difference in °C between the requested and the actual target
// that counts as reached. Many devices use half or whole degrees Celsius or Fahrenheit.
const TargetTolerance = 0.5

// Check returns an error for a temperature outside of the range.
func (r TargetRange) Check(celsius float64) error {
	if celsius >= r.Min && celsius <= r.Max { // this form rejects NaN
		return nil
	}
	return MarkNothingDone(fmt.Errorf("%g °C is outside of the range of the device, %g to %g", celsius, r.Min, r.Max))
}

// Fahrenheit converts °C to °F, rounded to a tenth of a degree.
func Fahrenheit(celsius float64) float64 { return math.Round((celsius*1.8+32)*10) / 10 }

// Celsius converts °F to °C, rounded to a tenth of a degree.
func Celsius(fahrenheit float64) float64 { return math.Round((fahrenheit-32)/1.8*10) / 10 }
