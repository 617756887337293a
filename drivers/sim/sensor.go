package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Device     = (*Sensor)(nil)
	_ drivers.Sensor     = (*Sensor)(nil)
	_ drivers.SafeReader = (*Sensor)(nil)
	_ drivers.Notifier   = (*Sensor)(nil)
	_ drivers.Sensor     = (*Meter)(nil)
)

// SensorConfig is the configuration of a sensor.
type SensorConfig struct {
	Reads []Measure `yaml:"reads"`
}

// Measure is one quantity of a sensor: its value is Value, or On while a line of the
// simulated home is on.
type Measure struct {
	Quantity string  `yaml:"quantity"`
	Value    float64 `yaml:"value"`
	Unit     string  `yaml:"unit"`
	Line     string  `yaml:"line"`
	On       float64 `yaml:"on"`
}

// Validate returns the first error in the configuration.
func (c SensorConfig) Validate() error {
	if len(c.Reads) == 0 {
		return errors.New("reads: is empty; write the measurements, like [{quantity: temperature, value: 21.5, unit: °C}]")
	}
	for _, m := range c.Reads {
		if m.Quantity == "" {
			return errors.New("reads: a quantity is missing; write one, like temperature")
		}
	}
	return nil
}

// Sensor measures in a world.
type Sensor struct {
	drivers.Passive
	cfg   SensorConfig
	world *World
}

// NewSensor returns a sensor in a world, for a valid configuration.
func NewSensor(name string, cfg SensorConfig, w *World) *Sensor {
	return &Sensor{Passive: drivers.NewPassive(name), cfg: cfg, world: w}
}

// Safe returns true, because a sensor changes nothing.
func (s *Sensor) Safe(context.Context) (bool, error) { return true, nil }

// Changes returns a channel that closes at the next change of the home.
func (s *Sensor) Changes() <-chan struct{} { return s.world.signal.Changes() }

// Read returns the measurements.
func (s *Sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.DoValue(ctx, &s.Base, func(context.Context) ([]drivers.Reading, error) {
		list := make([]drivers.Reading, len(s.cfg.Reads))
		for i, m := range s.cfg.Reads {
			value := m.Value
			if m.Line != "" && s.world.Line(m.Line) {
				value = m.On
			}
			list[i] = drivers.Reading{Quantity: m.Quantity, Value: value, Unit: m.Unit, At: s.world.now()}
		}
		return list, nil
	})
}

// MeterConfig is the configuration of a plug with a power meter, and of an appliance.
type MeterConfig struct {
	RelayConfig
	Watts   float64       `yaml:"watts"`   // power of the appliance while it works
	Standby float64       `yaml:"standby"` // power in W after its work
	Runs    time.Duration `yaml:"runs"`    // duration of its work after it turns on; 0: until it turns off
}

// DefaultApplianceConfig returns the configuration of a coffee machine that finishes soon.
func DefaultApplianceConfig() MeterConfig {
	return MeterConfig{RelayConfig: DefaultPlugConfig(), Watts: 1200, Standby: 0.4, Runs: 25 * time.Second}
}

// Meter is a plug with a power meter.
type Meter struct {
	*Relay
	cfg   MeterConfig
	world *World
}

func openMeter(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	return openMeterAs(env, MeterConfig{RelayConfig: DefaultPlugConfig(), Watts: 60}, decode)
}

func openAppliance(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	return openMeterAs(env, DefaultApplianceConfig(), decode)
}

func openMeterAs(env drivers.Env, cfg MeterConfig, decode func(any) error) (drivers.Device, error) {
	r, err := openRelayAs(env, &cfg, &cfg.RelayConfig, decode)
	if err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return NewMeter(r, cfg, w), nil
}

// Validate returns all errors in the configuration.
func (c MeterConfig) Validate() error {
	err := c.RelayConfig.Validate()
	for _, one := range []struct {
		key   string
		watts float64
	}{{"watts", c.Watts}, {"standby", c.Standby}} {
		if !(one.watts >= 0 && one.watts <= 1e5) { // this form rejects NaN
			err = errors.Join(err, fmt.Errorf("%s: %v is invalid; write 0 to 100000", one.key, one.watts))
		}
	}
	if c.Runs < 0 {
		err = errors.Join(err, fmt.Errorf("runs: %v is invalid; write a duration, or 0", c.Runs))
	}
	return err
}

// NewMeter returns a plug with a power meter for a relay on a line of the same world.
func NewMeter(r *Relay, cfg MeterConfig, w *World) *Meter { return &Meter{r, cfg, w} }

// Read returns the power.
func (m *Meter) Read(ctx context.Context) ([]drivers.Reading, error) {
	on, err := m.On(ctx)
	if err != nil {
		return nil, err
	}
	watts, now := 0.0, m.world.now()
	switch {
	case on && m.cfg.Runs > 0 && now.Sub(m.world.Since(m.cfg.Line)) >= m.cfg.Runs:
		watts = m.cfg.Standby
	case on:
		watts = m.cfg.Watts
	}
	return []drivers.Reading{{Quantity: "power", Value: watts, Unit: "W", At: now}}, nil
}
