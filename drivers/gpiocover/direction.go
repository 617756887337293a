package gpiocover

import (
	"errors"

	"gobot.io/x/gobot/v2/drivers/gpio"

	"github.com/messkit/messkit/internal/board"
)

// direction is the relay of one direction.
type direction struct {
	name  string
	pin   *board.Output
	relay *gpio.RelayDriver
}

func newDirection(chips board.Chips, cfg Config, line, device string) *direction {
	pin := board.NewOutput(chips, cfg.line(line), cfg.request(device))
	return &direction{line, pin, gpio.NewRelayDriver(pin, line)}
}

// start requests the line and keeps the relay off.
func (d *direction) start() error { return errors.Join(d.pin.Connect(), d.relay.Start()) }

// on reads the line back.
func (d *direction) on() (bool, error) {
	level, err := d.pin.DigitalRead(d.name)
	return level == 1, err
}
