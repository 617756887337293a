//go:build !linux

package sim

// newSwitch does what Gobot's relay driver does, which is built on Linux alone.
func newSwitch(pins *adaptor, line string) switcher { return byPins{pins, line} }

type byPins struct {
	pins *adaptor
	line string
}

func (p byPins) Start() error { return nil }
func (p byPins) Halt() error  { return nil }
func (p byPins) On() error    { return p.pins.DigitalWrite(p.line, 1) }
func (p byPins) Off() error   { return p.pins.DigitalWrite(p.line, 0) }
