package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Switch       = (*Thermostat)(nil)
	_ drivers.SwitchReader = (*Thermostat)(nil)
	_ drivers.Thermostat   = (*Thermostat)(nil)
	_ drivers.TargetReader = (*Thermostat)(nil)
	_ drivers.Sensor       = (*Thermostat)(nil)
)

// ThermostatConfig is the configuration of a heater with a thermostat.
type ThermostatConfig struct {
	RelayConfig `yaml:",inline"`
	Min         float64 `yaml:"min"` // lowest target temperature in °C
	Max         float64 `yaml:"max"`
	Is          float64 `yaml:"is"` // temperature of its room in °C
}

// DefaultThermostatConfig returns a heater that keeps its state at Start and Halt.
func DefaultThermostatConfig() ThermostatConfig {
	return ThermostatConfig{RelayConfig: RelayConfig{Line: "heater", SwitchLevels: drivers.SwitchLevels{Initial: "keep", Safe: "keep"}}, Min: 5, Max: 30, Is: 19.5}
}

// Validate returns all errors in the configuration.
func (c ThermostatConfig) Validate() error {
	err := c.RelayConfig.Validate()
	if !(c.Min >= -30 && c.Min < c.Max && c.Max <= 100) {
		err = errors.Join(err, fmt.Errorf("min: %g to %g °C is invalid; write -30 to 100", c.Min, c.Max))
	}
	return err
}

// Thermostat is a heater with a target temperature. Its room has the configured
// temperature.
type Thermostat struct {
	*Relay
	limits drivers.TargetRange
	is     float64
	world  *World
}

func openThermostat(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultThermostatConfig()
	r, err := openRelayAs(env, &cfg, &cfg.RelayConfig, decode)
	if err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return NewThermostat(r, cfg, w), nil
}

// NewThermostat returns a thermostat for a relay on a line of the same world.
func NewThermostat(r *Relay, cfg ThermostatConfig, w *World) *Thermostat {
	return &Thermostat{r, drivers.TargetRange{Min: cfg.Min, Max: cfg.Max}, cfg.Is, w}
}

// TargetRange returns the range of target temperatures.
func (t *Thermostat) TargetRange() drivers.TargetRange { return t.limits }

// SetTarget sets the target temperature.
func (t *Thermostat) SetTarget(ctx context.Context, celsius float64) error {
	return t.Do(ctx, func(context.Context) error {
		if err := t.limits.Check(celsius); err != nil {
			return err
		}
		t.world.heat(t.Name(), t.cfg.Line, celsius)
		return nil
	})
}

// Target returns the target temperature.
func (t *Thermostat) Target(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &t.Base, func(context.Context) (float64, error) {
		return min(t.limits.Max, max(t.limits.Min, t.world.Target(t.cfg.Line))), nil
	})
}

// Read returns the temperature and the target temperature.
func (t *Thermostat) Read(ctx context.Context) ([]drivers.Reading, error) {
	target, err := t.Target(ctx)
	if err != nil {
		return nil, err
	}
	at := t.world.now()
	return []drivers.Reading{
		{Quantity: "temperature", Value: t.is, Unit: "°C", At: at},
		{Quantity: "target temperature", Value: target, Unit: "°C", At: at},
	}, nil
}
