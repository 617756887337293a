package i2cdev

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
)

// BoschConfig is the configuration of a BMP280 or BME280.
type BoschConfig struct {
	At
}

// DefaultBoschConfig returns the address of most boards.
func DefaultBoschConfig() BoschConfig { return BoschConfig{At{Address: 0x76}} }

// Validate returns all errors in the configuration.
func (c BoschConfig) Validate() error { return c.validate(0x76, 0x77) }

// NewBMP280 returns a sensor for temperature and air pressure, for a valid configuration.
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

// NewBME280 returns a sensor for temperature, air pressure and humidity, for a valid
// configuration.
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
		// The computed value may slightly exceed both limits; the datasheet (4.2.3) cuts it
		// off.
		r, err := reading("humidity", min(100, max(0, float64(percent))), "%", 0, 100, 10)
		return append(list, r), err
	})
}

// Registers of both chips (BME280 datasheet, 5.3).
const (
	boschID          = 0xd0
	boschTemperature = 0xfa
)

// identify checks the type of the chip, because Gobot does not.
func (a At) identify(b Bus, name string, ids ...byte) error {
	c, err := a.direct(b)
	if err != nil {
		return err
	}
	is, err := c.ReadByteData(boschID)
	if err != nil {
		return err
	}
	if slices.Contains(ids, is) {
		return nil
	}
	other := map[byte]string{0x58: "a BMP280: use the driver i2c-bmp280", 0x60: "a BME280: use the driver i2c-bme280", 0x61: "a BME680, which is not supported"}[is]
	return answerError("the chip at address %#x is not a %s (its id is %#x), but %s", int(a.Address), name, is, cmp.Or(other, "another chip"))
}

// converting is the duration of a measurement with Gobot's settings, which measure pressure
// and humidity 16 times (BME280 datasheet, 9.1: 78 ms), with a reserve.
const converting = 100 * time.Millisecond

// climate measures temperature and pressure. It detects a chip without a measurement after
// its setup, whose register value Gobot takes for a temperature.
func (a At) climate(ctx context.Context, b Bus, d *i2c.BMP280Driver) ([]drivers.Reading, error) {
	if err := converted(ctx, converting); err != nil {
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
		return nil, answerError("the chip has no measurement after %v; check its supply", converting)
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
