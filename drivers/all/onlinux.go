package all

import (
	"errors"

	"github.com/messkit/messkit/drivers"
)

// wired are the kinds that drive what is wired to a board, and what their devices
// are. Elsewhere than on Linux they are known by name, so that a configuration can
// be told what is wrong with it.
var wired = [][2]string{
	{"gpiocover", "door"},
	{"gpioinput", "contact-sensor"},
	{"gpiorelay", "relay"},
	{"onewire", "thermometer"},
	{"i2c-ads1115", "sensor"},
	{"i2c-bme280", "thermometer"},
	{"i2c-bmp280", "thermometer"},
	{"i2c-mcp23017", "relay"},
	{"i2c-pca9685", "switch"},
	{"i2c-servo", "servo"},
	{"i2c-sht3x", "thermometer"},
}

var errLinux = errors.New("what is wired to a board is driven on Linux alone; run messkit on the board, and connect to it from here")

// onLinux are those kinds where there is no Linux.
func onLinux() []drivers.Kind {
	list := make([]drivers.Kind, 0, len(wired))
	for _, k := range wired {
		list = append(list, drivers.Kind{
			Name: k[0], Class: k[1], About: "on Linux alone",
			Open: func(drivers.Env, func(any) error) (drivers.Device, error) { return nil, errLinux },
		})
	}
	return list
}
