//go:build !linux

package sim

// newSwitch returns a replacement for Gobot's relay driver, which builds only on Linux.
func newSwitch(pins *adaptor, line string) switcher { return byPins{pins, line} }

type byPins struct {
	pins *adaptor
	line string
}

func (p byPins) Start() error { return nil }
func (p byPins) Halt() error  { return nil }
func (p byPins) On() error    { return p.pins.DigitalWrite(p.line, 1) }
func (p byPins) Off() error   { return p.pins.DigitalWrite(p.line, 0) }
