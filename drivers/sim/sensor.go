package sim

import (
	"context"
	"errors"
	"fmt"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Device     = (*Sensor)(nil)
	_ drivers.Sensor     = (*Sensor)(nil)
	_ drivers.SafeReader = (*Sensor)(nil)
	_ drivers.Sensor     = (*Meter)(nil)
)

// SensorConfig of a sensor.
type SensorConfig struct {
	Reads []Measure `yaml:"reads"`
}

// Measure is what a sensor reads of one quantity: Value, or On while a line of the
// simulated home is on.
type Measure struct {
	Quantity string  `yaml:"quantity"`
	Value    float64 `yaml:"value"`
	Unit     string  `yaml:"unit"`
	Line     string  `yaml:"line"`
	On       float64 `yaml:"on"`
}

// Validate tells what cannot be.
func (c SensorConfig) Validate() error {
	if len(c.Reads) == 0 {
		return errors.New("reads: is empty; write what it measures, like [{quantity: temperature, value: 21.5, unit: °C}]")
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
	drivers.Life
	cfg   SensorConfig
	world *World
}

func openSensor(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	var cfg SensorConfig
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return NewSensor(env.Name, cfg, w), nil
}

// NewSensor makes a sensor in a world, of a valid configuration.
func NewSensor(name string, cfg SensorConfig, w *World) *Sensor {
	return &Sensor{Life: drivers.NewLife(name), cfg: cfg, world: w}
}

// Connection is the Gobot adaptor below.
func (s *Sensor) Connection() gobot.Connection { return newAdaptor(s.world, s.Name) }

// Start makes it ready.
func (s *Sensor) Start() error { s.Opened(); return nil }

// Halt ends it.
func (s *Sensor) Halt() error { s.Closed(); return nil }

// Safe is always so: it changes nothing.
func (s *Sensor) Safe(context.Context) (bool, error) { return true, nil }

// Read measures.
func (s *Sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	_, done, err := s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list := make([]drivers.Reading, len(s.cfg.Reads))
	for i, m := range s.cfg.Reads {
		value := m.Value
		if m.Line != "" && s.world.Line(m.Line) {
			value = m.On
		}
		list[i] = drivers.Reading{Quantity: m.Quantity, Value: value, Unit: m.Unit, At: s.world.now()}
	}
	return list, nil
}

// MeterConfig of a plug that measures.
type MeterConfig struct {
	RelayConfig
	Watts float64 `yaml:"watts"` // that what is plugged in takes while it is on
}

// Meter is a plug that measures the power of what is plugged in.
type Meter struct {
	*Relay
	watts float64
	world *World
}

func openMeter(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := MeterConfig{RelayConfig: DefaultPlugConfig(), Watts: 60}
	r, err := openRelayAs(env, &cfg, &cfg.RelayConfig, decode)
	if err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return NewMeter(r, cfg.Watts, w), nil
}

// Validate tells what cannot be.
func (c MeterConfig) Validate() error {
	err := c.RelayConfig.Validate()
	if !(c.Watts >= 0 && c.Watts <= 1e5) { // so that NaN is refused
		err = errors.Join(err, fmt.Errorf("watts: %v cannot be; write 0 to 100000", c.Watts))
	}
	return err
}

// NewMeter makes a plug that measures of a relay on a line of the same world.
func NewMeter(r *Relay, watts float64, w *World) *Meter { return &Meter{r, watts, w} }

// Read measures the power.
func (m *Meter) Read(ctx context.Context) ([]drivers.Reading, error) {
	on, err := m.On(ctx)
	if err != nil {
		return nil, err
	}
	watts := 0.0
	if on {
		watts = m.watts
	}
	return []drivers.Reading{{Quantity: "power", Value: watts, Unit: "W", At: m.world.now()}}, nil
}
