package i2cdev

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
)

// ADS1115Config is the configuration of one input of an ADS1115.
type ADS1115Config struct {
	At
	Input    int     `yaml:"input"`     // 0 to 3, against ground
	MaxVolts float64 `yaml:"max_volts"` // highest input voltage; a lower value gives a finer resolution
	Quantity string  `yaml:"quantity"`  // quantity that the voltage represents
	Unit     string  `yaml:"unit"`      //
	Factor   float64 `yaml:"factor"`    // units per volt
	Offset   float64 `yaml:"offset"`    // value in units at 0 V
}

// DefaultADS1115Config returns the configuration of a voltage sensor.
func DefaultADS1115Config() ADS1115Config {
	return ADS1115Config{At: At{Address: 0x48}, MaxVolts: 4, Quantity: "voltage", Unit: "V", Factor: 1}
}

// Validate returns all errors in the configuration.
func (c ADS1115Config) Validate() error {
	errs := []error{c.validate(0x48, 0x4b)}
	errs = append(errs, drivers.CheckRange("input", c.Input, 0, 3))
	if !(c.MaxVolts > 0 && c.MaxVolts <= ranges[0]) {
		errs = append(errs, fmt.Errorf("max_volts: %g is not above 0 and up to %g; divide the voltage", c.MaxVolts, ranges[0]))
	}
	if c.Quantity == "" || c.Unit == "" {
		errs = append(errs, errors.New("quantity: is missing, or the unit is; write the quantity that the voltage represents, and its unit"))
	}
	if c.Factor == 0 || math.IsNaN(c.Factor+c.Offset) || math.IsInf(c.Factor+c.Offset, 0) {
		errs = append(errs, fmt.Errorf("factor: %g with an offset of %g gives no measurement; write another factor", c.Factor, c.Offset))
	}
	return errors.Join(errs...)
}

// ranges contains the highest voltage of each gain of Gobot (datasheet, table 8).
var ranges = []float64{6.144, 4.096, 2.048, 1.024, 0.512, 0.256}

// gain returns the finest gain whose range contains MaxVolts.
func (c ADS1115Config) gain() int {
	gain := 0
	for i, volts := range ranges {
		if c.MaxVolts <= volts {
			gain = i
		}
	}
	return gain
}

// samples is the sample rate per second: a conversion takes 8 ms.
const samples = 128

// NewADS1115 returns a sensor for one input, for a valid configuration.
func NewADS1115(env drivers.Env, cfg ADS1115Config, buses Buses) *Sensor {
	s := newSensor(env, cfg.At, buses, func(_ context.Context, at At, b Bus) ([]drivers.Reading, error) {
		d := i2c.NewADS1115Driver(b, at.options())
		if err := d.Start(); err != nil {
			return nil, err
		}
		volts, err := d.Read(cfg.Input, cfg.gain(), samples)
		if err != nil {
			return nil, err
		}
		if most := ranges[cfg.gain()]; volts >= most*32766/32768 || volts <= -most*32766/32768 {
			return nil, answerError("the voltage at input %d exceeds %g V; raise max_volts, or divide the voltage", cfg.Input, most)
		}
		value := volts*cfg.Factor + cfg.Offset
		return []drivers.Reading{{Quantity: cfg.Quantity, Value: round(value, 6), Unit: cfg.Unit}}, nil
	})
	s.part = fmt.Sprintf("input %d", cfg.Input)
	return s
}

// round rounds v to this number of significant digits.
func round(v float64, digits int) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}
