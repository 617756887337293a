// Package onewire reads DS18B20 thermometers (Maxim, and their clones) on the kernel's
// 1-Wire bus through its sysfs files (the kernel's Documentation/w1/slaves/w1_therm.rst).
// It uses Gobot's driver on a connection that distinguishes a wrong checksum from a missing
// chip, and rejects invalid measurements.
//
// Not supported: other 1-Wire chips, alarms and resolutions.
package onewire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"time"

	"gobot.io/x/gobot/v2/drivers/onewire"

	"github.com/messkit/messkit/drivers"
)

var _ drivers.Sensor = (*Thermometer)(nil)

// Config is the configuration of one thermometer.
type Config struct {
	ID string `yaml:"id"` // 28-0000005a1b2c, the name of its folder in /sys/bus/w1/devices; "": the only one
}

var validID = regexp.MustCompile(`^28-[0-9a-f]{12}$`)

// Validate returns all errors in the configuration.
func (c Config) Validate() error {
	if c.ID != "" && !validID.MatchString(c.ID) {
		return fmt.Errorf("id: %q is not the id of a DS18B20; ls /sys/bus/w1/devices lists the ids, like 28-0000005a1b2c", c.ID)
	}
	return nil
}

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "onewire", Class: "thermometer", About: "DS18B20 thermometer on the 1-Wire bus (Gobot)", Open: Open, Discover: Find}
}

// Devices is the folder of the kernel's 1-Wire devices.
const Devices = "/sys/bus/w1/devices"

// Open is the drivers.Factory of this package. It reads no chip.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	var cfg Config
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return New(env.Name, cfg, Devices, env.Now), nil
}

// Thermometer is one DS18B20.
type Thermometer struct {
	drivers.Base
	bus  *bus
	chip *onewire.DS18B20Driver
	now  func() time.Time
}

// New returns a thermometer whose files are in a folder, for a valid configuration.
func New(name string, cfg Config, folder string, now func() time.Time) *Thermometer {
	t := &Thermometer{Base: drivers.NewBase(name), bus: &bus{folder: folder, id: cfg.ID}, now: now}
	t.chip = onewire.NewDS18B20Driver(t.bus, 0) // the bus selects the chip
	return t
}

// Resources returns the chip. The driver only reads it.
func (t *Thermometer) Resources() []drivers.Resource {
	h := drivers.Resource{Key: "id", Label: "the thermometer " + t.bus.id, Kind: "DS18B20", Sole: t.bus.id == "", ReadOnly: true}
	if h.Sole {
		h.Label = "the only thermometer"
	}
	return []drivers.Resource{h}
}

// Start allows measurements. The chip may be connected later.
func (t *Thermometer) Start() error {
	if err := t.chip.Start(); err != nil {
		return t.WithName(err)
	}
	t.MarkStarted()
	return nil
}

// Halt waits for a measurement under way.
func (t *Thermometer) Halt() error { t.StopVerbs(); return nil }

// Read measures for 0.75 s, and for twice that time right after power-on.
func (t *Thermometer) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.DoValue(ctx, &t.Base, func(ctx context.Context) ([]drivers.Reading, error) {
		celsius, err := t.chip.Temperature()
		if errors.Is(err, errPowerOnValue) && ctx.Err() == nil {
			celsius, err = t.chip.Temperature()
		}
		if err == nil {
			err = ctx.Err()
		}
		value := math.Round(float64(celsius)*1e4) / 1e4
		return []drivers.Reading{{Quantity: "temperature", Value: value, Unit: "°C", At: t.now()}}, err
	})
}

// bus is a Gobot adaptor with one chip.
type bus struct {
	drivers.Connection
	folder, id string
}

// GetOneWireConnection implements onewire.Connector.
func (b *bus) GetOneWireConnection(byte, uint64) (onewire.Connection, error) {
	return &connection{b}, nil
}
