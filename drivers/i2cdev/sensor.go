package i2cdev

import (
	"context"
	"math"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

var _ drivers.Sensor = (*Sensor)(nil)

// Sensor is a chip that measures.
type Sensor struct {
	drivers.Passive
	at      At
	part    string // part of the chip: "input 2"; "": the whole chip
	buses   Buses
	now     func() time.Time
	measure func(ctx context.Context, at At, b Bus) ([]drivers.Reading, error)
}

func newSensor(env drivers.Env, at At, buses Buses, measure func(context.Context, At, Bus) ([]drivers.Reading, error)) *Sensor {
	return &Sensor{Passive: drivers.NewPassive(env.Name), at: at, buses: buses, now: env.Now, measure: measure}
}

// Read sets up the chip and measures.
func (s *Sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	list, err := drivers.DoValue(ctx, &s.Base, func(ctx context.Context) (list []drivers.Reading, err error) {
		err = s.at.use(s.buses, func(b Bus) (err error) { list, err = s.measure(ctx, s.at, b); return err })
		if err == nil {
			err = ctx.Err()
		}
		return list, err
	})
	at := s.now()
	for i := range list {
		list[i].At = at
	}
	return list, err
}

// reading returns a Reading, rounded to the resolution of the chip: steps is the number of
// steps per unit. It returns an error for a value outside of the range of the chip.
func reading(quantity string, value float64, unit string, least, most, steps float64) (drivers.Reading, error) {
	if math.IsNaN(value) || value < least || value > most {
		return drivers.Reading{}, answerError("the chip reports a %s of %.4g %s, outside of its range %g to %g; check the type of the chip, and shorten its wires", quantity, value, unit, least, most)
	}
	return drivers.Reading{Quantity: quantity, Value: math.Round(value*steps) / steps, Unit: unit}, nil
}

// converted waits for a conversion.
func converted(ctx context.Context, d time.Duration) error {
	if !wait.For(ctx, d) {
		return &finalError{context.Cause(ctx)}
	}
	return nil
}
