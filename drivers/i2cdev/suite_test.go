package i2cdev_test

import (
	"errors"
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/i2cdev"
	"github.com/messkit/messkit/drivers/i2cdev/i2ctest"
)

func TestSuiteOfSensors(t *testing.T) {
	for name, open := range map[string]func(*i2ctest.Bus) drivers.Device{
		"bmp280": func(b *i2ctest.Bus) drivers.Device {
			return i2cdev.NewBMP280(env("climate"), i2cdev.DefaultBoschConfig(), b)
		},
		"bme280": func(b *i2ctest.Bus) drivers.Device {
			return i2cdev.NewBME280(env("climate"), i2cdev.BoschConfig{At: i2cdev.At{Address: 0x77}}, b)
		},
		"sht3x": func(b *i2ctest.Bus) drivers.Device {
			return i2cdev.NewSHT3x(env("climate"), i2cdev.DefaultSHT3xConfig(), b)
		},
		"ads1115": func(b *i2ctest.Bus) drivers.Device {
			return i2cdev.NewADS1115(env("level"), i2cdev.DefaultADS1115Config(), b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b *i2ctest.Bus
			drivertest.Run(t, func(*testing.T) drivers.Device { b = board(); return open(b) })
			if b.Open != 0 {
				t.Errorf("the bus is still open %d times", b.Open)
			}
		})
	}
}

func TestSuiteOfOutputs(t *testing.T) {
	mcp := i2cdev.DefaultMCP23017Config()
	mcp.Pin, mcp.ActiveLow = "B3", true
	pca := i2cdev.DefaultPCA9685Config()
	pca.Initial, pca.Safe = "off", "off"
	for name, tt := range map[string]struct {
		open  func(*i2ctest.Bus) drivers.Device
		obey  func(i2cdev.Buses, []byte) (bool, error)
		level func(*i2ctest.Bus) bool
		force func(*i2ctest.Bus, bool)
	}{
		"mcp23017": {
			func(b *i2ctest.Bus) drivers.Device { return i2cdev.NewMCP23017("pump", mcp, b) },
			i2cdev.RunMCP23017Command,
			func(b *i2ctest.Bus) bool {
				c := b.Chips[0x20].(*i2ctest.Expander)
				return c.Values[0x01]&8 == 0 && c.Values[0x15]&8 == 0
			},
			func(b *i2ctest.Bus, on bool) {
				c := b.Chips[0x20].(*i2ctest.Expander)
				c.Values[0x01] &^= 8
				c.Values[0x15] |= 8
				if on {
					c.Values[0x15] &^= 8
				}
			},
		},
		"pca9685": {
			func(b *i2ctest.Bus) drivers.Device { return i2cdev.NewPCA9685("lid", pca, b) },
			i2cdev.RunPCA9685Command,
			func(b *i2ctest.Bus) bool {
				c := b.Chips[0x40].(*i2ctest.Registers)
				return c.Values[8] == 410&0xff && c.Values[9] == 410>>8
			},
			func(b *i2ctest.Bus, on bool) {
				c := b.Chips[0x40].(*i2ctest.Registers)
				c.Values[0], c.Values[0xfe] = 0x81, 121
				c.Values[8], c.Values[9] = 205&0xff, 205>>8
				if on {
					c.Values[8], c.Values[9] = 410&0xff, 410>>8
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b *i2ctest.Bus
			level := func() (on bool) { b.With(func() { on = tt.level(b) }); return on }
			drivertest.Run(
				t, func(*testing.T) drivers.Device { b = board(); return tt.open(b) },
				drivertest.Safe(func() error {
					if level() {
						return errors.New("it is on")
					}
					return nil
				}),
				drivertest.Acts(func() (n int) { b.With(func() { n = b.Writes }); return n }),
				drivertest.Level(level),
				drivertest.Force(func(on bool) { b.With(func() { tt.force(b, on) }) }),
				drivertest.RunWatchdogCommand(func(order []byte) (bool, error) { return tt.obey(b, order) }),
			)
		})
	}
}
