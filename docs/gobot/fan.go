// Package gobot is an example: a kind of driver for messkit with a relay driver of Gobot on an
// adaptor of your own (docs/how-to/own-driver.md).
package gobot

import (
	"fmt"
	"os"

	"gobot.io/x/gobot/v2/drivers/gpio"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/gobotdevice"
)

// Config contains the keys of the configuration that only this driver has.
type Config struct {
	File string `yaml:"file"`
	Pin  string `yaml:"pin"`
}

// Kind returns the kind of driver for messkit.Main.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "my-fan", Class: "fan", About: "the fan on my own board", Open: func(env drivers.Env, decode func(any) error) (drivers.Device, error) {
		cfg := Config{Pin: "1"}
		if err := decode(&cfg); err != nil {
			return nil, err
		}
		board := &Board{file: cfg.File}
		return gobotdevice.NewSwitch(env.Name, board, gpio.NewRelayDriver(board, cfg.Pin)), nil
	}}
}

// Board is the adaptor: a file contains the levels of its pins.
type Board struct {
	drivers.Connection // the name, and a Connect and Finalize that do nothing
	file               string
}

// DigitalWrite sets a pin.
func (b *Board) DigitalWrite(pin string, level byte) error {
	return os.WriteFile(b.file, fmt.Appendf(nil, "pin %s is %d\n", pin, level), 0o600)
}
