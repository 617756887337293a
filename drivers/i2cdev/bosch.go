package i2cdev

import (
	"context"
	"time"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
)

// BoschConfig of a BMP280 or BME280.
type BoschConfig struct {
	At
}

// DefaultBoschConfig is the address of most boards.
func DefaultBoschConfig() BoschConfig { return BoschConfig{At{Address: 0x76}} }

// Validate tells what cannot be.
func (c BoschConfig) Validate() error { return c.validate(0x76, 0x77) }

func openBMP280(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultBoschConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return NewBMP280(env, cfg, System{}), nil
}

func openBME280(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultBoschConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return NewBME280(env, cfg, System{}), nil
}

// NewBMP280 makes a sensor of temperature and air pressure, of a valid
// configuration.
func NewBMP280(env drivers.Env, cfg BoschConfig, buses Buses) *Sensor {
	return newSensor(env, cfg.At, buses, func(ctx context.Context, at At, b Bus) ([]drivers.Reading, error) {
		if err := at.identify(b, "BMP280", 0x58, 0x56, 0x57); err != nil {
			return nil, err
		}
		d := i2c.NewBMP280Driver(b, at.options())
		if err := d.Start(); err != nil {
			return nil, err
		}
		return at.climate(ctx, b, d)
	})
}

// NewBME280 makes one that measures humidity as well.
func NewBME280(env drivers.Env, cfg BoschConfig, buses Buses) *Sensor {
	return newSensor(env, cfg.At, buses, func(ctx context.Context, at At, b Bus) ([]drivers.Reading, error) {
		if err := at.identify(b, "BME280", 0x60); err != nil {
			return nil, err
		}
		d := i2c.NewBME280Driver(b, at.options())
		if err := d.Start(); err != nil {
			return nil, err
		}
		list, err := at.climate(ctx, b, d.BMP280Driver)
		if err != nil {
			return nil, err
		}
		percent, err := d.Humidity()
		if err != nil {
			return nil, err
		}
		// It computes a little beyond both ends (datasheet, 4.2.3: they are cut off).
		r, err := reading("humidity", min(100, max(0, float64(percent))), "%", 0, 100, 10)
		return append(list, r), err
	})
}

// Registers of both chips (BME280 datasheet, 5.3).
const (
	boschID          = 0xd0
	boschTemperature = 0xfa
)

// identify checks which chip is there: Gobot computes with any.
func (a At) identify(b Bus, name string, ids ...byte) error {
	c, err := a.direct(b)
	if err != nil {
		return err
	}
	is, err := c.ReadByteData(boschID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if is == id {
			return nil
		}
	}
	other := map[byte]string{0x58: "a BMP280: use the driver i2c-bmp280", 0x60: "a BME280: use the driver i2c-bme280", 0x61: "a BME680, which is not supported"}[is]
	if other == "" {
		other = "another chip"
	}
	return wrong("what answers at address %#x is no %s (its id is %#x), but %s", int(a.Address), name, is, other)
}

// converting is how long a measurement takes with Gobot's settings, pressure and
// humidity 16 times (BME280 datasheet, 9.1: 78 ms), and some more.
const converting = 100 * time.Millisecond

// climate measures temperature and pressure. Right after the chip was set up it
// has none, which Gobot takes for a temperature.
func (a At) climate(ctx context.Context, b Bus, d *i2c.BMP280Driver) ([]drivers.Reading, error) {
	if err := wait(ctx, converting); err != nil {
		return nil, err
	}
	c, err := a.direct(b)
	if err != nil {
		return nil, err
	}
	var raw [3]byte
	if err := c.ReadBlockData(boschTemperature, raw[:]); err != nil {
		return nil, err
	}
	if raw == [3]byte{0x80, 0, 0} {
		return nil, wrong("it has measured nothing within %v; is its supply good?", converting)
	}
	celsius, err := d.Temperature()
	if err != nil {
		return nil, err
	}
	pascal, err := d.Pressure()
	if err != nil {
		return nil, err
	}
	t, err := reading("temperature", float64(celsius), "°C", -40, 85, 100)
	if err != nil {
		return nil, err
	}
	p, err := reading("pressure", float64(pascal)/100, "hPa", 300, 1100, 100)
	return []drivers.Reading{t, p}, err
}
