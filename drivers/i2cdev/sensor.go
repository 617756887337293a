package i2cdev

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/messkit/messkit/drivers"
)

var _ drivers.Sensor = (*Sensor)(nil)

// Sensor is a chip that measures.
type Sensor struct {
	drivers.Base
	at      At
	part    string // part of the chip: "input 2"; "": the whole chip
	buses   Buses
	now     func() time.Time
	measure func(ctx context.Context, at At, b Bus) ([]drivers.Reading, error)
}

func newSensor(env drivers.Env, at At, buses Buses, measure func(context.Context, At, Bus) ([]drivers.Reading, error)) *Sensor {
	return &Sensor{Base: drivers.NewBase(env.Name), at: at, buses: buses, now: env.Now, measure: measure}
}

// Start allows measurements. It sends nothing to the chip, which may be connected later.
func (s *Sensor) Start() error { s.MarkStarted(); return nil }

// Halt ends measurements under way.
func (s *Sensor) Halt() error { s.StopVerbs(); return nil }

// Read sets up the chip and measures.
func (s *Sensor) Read(ctx context.Context) (list []drivers.Reading, err error) {
	ctx, done, err := s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	err = s.at.use(s.buses, func(b Bus) (err error) { list, err = s.measure(ctx, s.at, b); return err })
	switch {
	case ctx.Err() != nil:
		return nil, s.EndReason(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	at := s.now()
	for i := range list {
		list[i].At = at
	}
	return list, nil
}

// reading returns a Reading, rounded to the resolution of the chip: steps is the number of
// steps per unit. It returns an error for a value outside of the range of the chip.
func reading(quantity string, value float64, unit string, least, most, steps float64) (drivers.Reading, error) {
	if math.IsNaN(value) || value < least || value > most {
		return drivers.Reading{}, wrong("the chip reports a %s of %.4g %s, outside of its range %g to %g; check the type of the chip, and shorten its wires", quantity, value, unit, least, most)
	}
	return drivers.Reading{Quantity: quantity, Value: math.Round(value*steps) / steps, Unit: unit}, nil
}

// wait waits for a conversion.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return &finalError{context.Cause(ctx)}
	}
}
