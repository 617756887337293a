package i2cdev

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// hold is a part of a chip, "" for all of it. The bus is the one that would be opened
// here, where that can be told.
func (a At) hold(key, part string) drivers.Hold {
	on := a.Bus
	if n, err := number(a.Bus, sysBuses); err == nil {
		on = strconv.Itoa(n)
	} else if on == "" {
		on = "1" // a Pi's header
	}
	what := fmt.Sprintf("the chip at %#x of I2C bus %s", int(a.Address), on)
	if part != "" {
		what = part + " of " + what
	}
	return drivers.Hold{Key: key, What: what}
}

// Holds is the chip, or one input of it. It is only read.
func (s *Sensor) Holds() []drivers.Hold {
	h := s.at.hold("address", s.part)
	h.Read = true
	return []drivers.Hold{h}
}

// Holds is the pin or channel that is switched.
func (o *Output) Holds() []drivers.Hold {
	key, part := o.port.part()
	return []drivers.Hold{o.at.hold(key, part)}
}

// Holds is the channel that the servo is on.
func (s *Servo) Holds() []drivers.Hold {
	return []drivers.Hold{s.cfg.hold("channel", channelPart(s.cfg.Channel))}
}

func channelPart(n int) string { return "channel " + strconv.Itoa(n) }

func (p pin) part() (key, part string) { return "pin", "pin " + strings.ToUpper(p.Pin) }

func (s servo) part() (key, part string) { return "channel", channelPart(s.Channel) }
