package all

import (
	"errors"

	"github.com/messkit/messkit/drivers"
)

// wired lists the kinds for devices on a board, with their classes. On other systems than
// Linux a configuration with these kinds gets an error that explains this.
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

var errLinux = errors.New("this driver needs Linux; run messkit on the board, and connect to it from here")

// onLinux returns these kinds with an Open that fails.
func onLinux() []drivers.Kind {
	list := make([]drivers.Kind, 0, len(wired))
	for _, k := range wired {
		list = append(list, drivers.Kind{
			Name: k[0], Class: k[1], About: "only on Linux",
			Open: func(drivers.Env, func(any) error) (drivers.Device, error) { return nil, errLinux },
		})
	}
	return list
}
