package i2cdev

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// hold returns the Hold of a part of the chip, or of the whole chip if part is "". It
// resolves the bus to its number if possible.
func (a At) hold(key, part string) drivers.Resource {
	on := a.Bus
	if n, err := number(a.Bus, sysBuses); err == nil {
		on = strconv.Itoa(n)
	} else if on == "" {
		on = "1" // the header of a Pi
	}
	what := fmt.Sprintf("the chip at %#x of I2C bus %s", int(a.Address), on)
	if part != "" {
		what = part + " of " + what
	}
	return drivers.Resource{Key: key, Label: what}
}

// Resources returns the chip, or one of its inputs. The sensor only reads it.
func (s *Sensor) Resources() []drivers.Resource {
	h := s.at.hold("address", s.part)
	h.ReadOnly = true
	return []drivers.Resource{h}
}

// Resources returns the pin or channel of the output.
func (o *Output) Resources() []drivers.Resource {
	key, part := o.port.part()
	return []drivers.Resource{o.at.hold(key, part)}
}

// Resources returns the channel of the servo.
func (s *Servo) Resources() []drivers.Resource {
	return []drivers.Resource{s.cfg.hold("channel", channelPart(s.cfg.Channel))}
}

func channelPart(n int) string { return "channel " + strconv.Itoa(n) }

func (p pin) part() (key, part string) { return "pin", "pin " + strings.ToUpper(p.Pin) }

func (s servo) part() (key, part string) { return "channel", channelPart(s.Channel) }
