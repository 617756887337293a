package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Device     = (*Sensor)(nil)
	_ drivers.Sensor     = (*Sensor)(nil)
	_ drivers.SafeReader = (*Sensor)(nil)
	_ drivers.Notifier   = (*Sensor)(nil)
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

// Changes is closed with the next change of the home.
func (s *Sensor) Changes() <-chan struct{} { return s.world.bell.Changes() }

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

// MeterConfig of a plug that measures, and of an appliance.
type MeterConfig struct {
	RelayConfig
	Watts   float64       `yaml:"watts"`   // that what is plugged in takes while it is at work
	Standby float64       `yaml:"standby"` // W that it takes when it is done
	Runs    time.Duration `yaml:"runs"`    // how long it is at work after it is switched on; 0: until it is off
}

// DefaultApplianceConfig is that of a coffee machine that is soon done.
func DefaultApplianceConfig() MeterConfig {
	return MeterConfig{RelayConfig: DefaultPlugConfig(), Watts: 1200, Standby: 0.4, Runs: 25 * time.Second}
}

// Meter is a plug that measures the power of what is plugged in.
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

// Validate tells what cannot be.
func (c MeterConfig) Validate() error {
	err := c.RelayConfig.Validate()
	for _, one := range []struct {
		key   string
		watts float64
	}{{"watts", c.Watts}, {"standby", c.Standby}} {
		if !(one.watts >= 0 && one.watts <= 1e5) { // so that NaN is refused
			err = errors.Join(err, fmt.Errorf("%s: %v cannot be; write 0 to 100000", one.key, one.watts))
		}
	}
	if c.Runs < 0 {
		err = errors.Join(err, fmt.Errorf("runs: %v cannot be; write a length of time, or 0", c.Runs))
	}
	return err
}

// NewMeter makes a plug that measures of a relay on a line of the same world.
func NewMeter(r *Relay, cfg MeterConfig, w *World) *Meter { return &Meter{r, cfg, w} }

// Read measures the power.
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
