package sim

import (
	"fmt"

	"gobot.io/x/gobot/v2"
)

// adaptor is a Gobot adaptor whose pins are lines of the world.
type adaptor struct {
	name   string
	world  *World
	device func() string // name of the writing device
}

var _ gobot.Adaptor = (*adaptor)(nil)

func newAdaptor(w *World, device func() string) *adaptor {
	return &adaptor{name: "sim", world: w, device: device}
}

func (a *adaptor) Name() string        { return a.name }
func (a *adaptor) SetName(name string) { a.name = name }
func (a *adaptor) Connect() error      { return nil }
func (a *adaptor) Finalize() error     { return nil }

// DigitalWrite sets a line: 1 is on.
func (a *adaptor) DigitalWrite(pin string, level byte) error {
	if level > 1 {
		return fmt.Errorf("sim: line %s: unknown level %d; write 0 or 1", pin, level)
	}
	return a.world.set(a.device(), pin, level == 1)
}

// DigitalRead reads a line back.
func (a *adaptor) DigitalRead(pin string) (int, error) {
	on, err := a.world.level(pin)
	if err != nil || !on {
		return 0, err
	}
	return 1, nil
}
