package sim

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Device                 = (*Bulb)(nil)
	_ drivers.Dimmer                 = (*Bulb)(nil)
	_ drivers.LevelReader            = (*Bulb)(nil)
	_ drivers.ColorSetter            = (*Bulb)(nil)
	_ drivers.ColorReader            = (*Bulb)(nil)
	_ drivers.ColorTemperatureSetter = (*Bulb)(nil)
	_ drivers.ColorTemperatureReader = (*Bulb)(nil)
)

// Bulb is a lamp with brightness, color and color temperature.
type Bulb struct {
	*Relay
	world *World
}

func openBulb(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	r, err := openLamp(env, decode)
	if err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return NewBulb(r.(*Relay), w), nil
}

// NewBulb returns a bulb for a relay on a line of the same world.
func NewBulb(r *Relay, w *World) *Bulb { return &Bulb{r, w} }

// Dim sets the brightness; 0 turns the bulb off.
func (b *Bulb) Dim(ctx context.Context, percent float64) error {
	return b.Do(ctx, func(context.Context) error {
		if !(percent >= 0 && percent <= 100) { // this form rejects NaN
			return fmt.Errorf("%v percent is invalid; use 0 to 100", percent)
		}
		if percent > 0 {
			b.world.shine(b.Name(), b.cfg.Line, percent)
		}
		return b.write(percent > 0)
	})
}

// Level returns the brightness in percent.
func (b *Bulb) Level(ctx context.Context) (float64, error) {
	on, err := b.On(ctx)
	if err != nil || !on {
		return 0, err
	}
	percent, _ := b.world.Shines(b.cfg.Line)
	return math.Round(percent), nil
}

// SetColor sets the color, and turns the bulb on.
func (b *Bulb) SetColor(ctx context.Context, c drivers.Color) error {
	return b.Do(ctx, func(context.Context) error {
		b.world.tint(b.Name(), b.cfg.Line, c)
		return b.write(true)
	})
}

// Color returns the color.
func (b *Bulb) Color(ctx context.Context) (drivers.Color, error) {
	return drivers.DoValue(ctx, &b.Base, func(context.Context) (drivers.Color, error) {
		_, c := b.world.Shines(b.cfg.Line)
		return c, nil
	})
}

// SetColorTemperature sets the color temperature, and turns the bulb on.
func (b *Bulb) SetColorTemperature(ctx context.Context, kelvin float64) error {
	return b.Do(ctx, func(context.Context) error {
		if !(kelvin >= warmest && kelvin <= coldest) {
			return drivers.MarkNothingDone(fmt.Errorf("%v K is invalid; use %d to %d", kelvin, warmest, coldest))
		}
		b.world.warm(b.Name(), b.cfg.Line, kelvin)
		return b.write(true)
	})
}

// ColorTemperatureRange returns the limits of the color temperature in kelvin.
func (b *Bulb) ColorTemperatureRange() (least, most float64) { return warmest, coldest }

// ColorTemperature returns the color temperature in kelvin.
func (b *Bulb) ColorTemperature(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &b.Base, func(context.Context) (float64, error) {
		if kelvin := b.world.Warmth(b.cfg.Line); kelvin > 0 {
			return kelvin, nil
		}
		return 0, errors.New("the lamp shows a color")
	})
}
