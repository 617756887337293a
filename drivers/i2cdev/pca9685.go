package i2cdev

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
)

// PCA9685Config is the configuration of one servo with two positions.
type PCA9685Config struct {
	At
	drivers.SwitchLevels
	Channel   int           `yaml:"channel"`   // 0 to 15
	On        time.Duration `yaml:"on"`        // pulse of the position for on
	Off       time.Duration `yaml:"off"`       // pulse of the position for off
	Frequency float64       `yaml:"frequency"` // pulse frequency of all channels of the board in Hz
}

// DefaultPCA9685Config returns the configuration of a servo on the first channel that moves
// between the limits that every servo supports.
func DefaultPCA9685Config() PCA9685Config {
	return PCA9685Config{
		At: At{Address: 0x40}, SwitchLevels: drivers.SwitchLevels{Initial: "keep", Safe: "keep"}, On: 2 * time.Millisecond, Off: time.Millisecond, Frequency: 50,
	}
}

// Limits for the pulse of a servo.
const (
	minPulse = 400 * time.Microsecond
	maxPulse = 2600 * time.Microsecond
)

// Validate returns all errors in the configuration.
func (c PCA9685Config) Validate() error {
	errs := []error{c.At.validate(0x40, 0x7f), c.SwitchLevels.Validate()}
	errs = append(errs, drivers.CheckRange("channel", c.Channel, 0, 15))
	if c.Frequency < 24 || c.Frequency > 330 {
		errs = append(errs, fmt.Errorf("frequency: %g Hz is not between 24 and 330; most servos want 50", c.Frequency))
	}
	for _, p := range []struct {
		key   string
		pulse time.Duration
	}{{"on", c.On}, {"off", c.Off}} {
		if p.pulse < minPulse || p.pulse > maxPulse {
			errs = append(errs, fmt.Errorf("%s: a pulse of %v is not between %v and %v", p.key, p.pulse, minPulse, maxPulse))
		}
	}
	if s := c.servo(); s.On == s.Off {
		errs = append(errs, errors.New("on: has the same pulse as off; write another pulse"))
	}
	return errors.Join(errs...)
}

// NewPCA9685 returns a servo for a valid configuration.
func NewPCA9685(name string, cfg PCA9685Config, buses Buses) *Output {
	return &Output{Base: drivers.NewBase(name), at: cfg.At, SwitchLevels: cfg.SwitchLevels, port: cfg.servo(), buses: buses}
}

// RunPCA9685Command executes orders for such servos.
func RunPCA9685Command(buses Buses, order []byte) (bool, error) {
	return RunWatchdogCommand[servo](buses, order)
}

// servo is a channel with two positions, in 4096ths of a period.
type servo struct {
	Channel   int     `json:"channel"`
	On        uint16  `json:"on"`
	Off       uint16  `json:"off"`
	Frequency float64 `json:"frequency"` // Hz
}

func (c PCA9685Config) servo() servo {
	ticks := func(pulse time.Duration) uint16 { return uint16(math.Round(pulse.Seconds() * c.Frequency * 4096)) }
	return servo{c.Channel, ticks(c.On), ticks(c.Off), c.Frequency}
}

// Registers (datasheet, 7.3).
const (
	pcaMode      = 0x00
	pcaSleep     = 0x10 // bit of the mode
	pcaChannel   = 0x06 // four registers for each channel
	pcaAll       = 0xfa
	pcaPrescaler = 0xfe
)

// prescale returns the divider for the chip's 25 MHz (datasheet, 7.3.5).
func (s servo) prescale() byte { return byte(math.Round(25e6/4096/s.Frequency) - 1) }

// running reports whether the chip is set up. If so, other channels may have pulses.
func (s servo) running(c i2c.Connection) (bool, error) {
	mode, err := c.ReadByteData(pcaMode)
	if err != nil {
		return false, err
	}
	prescale, err := c.ReadByteData(pcaPrescaler)
	return mode&pcaSleep == 0 && prescale == s.prescale(), err
}

// set sets the pulse of the channel.
func (s servo) set(at At, b Bus, on bool) error {
	d, err := s.chip(at, b)
	if err != nil {
		return err
	}
	if on {
		return d.SetPWM(s.Channel, 0, s.On)
	}
	return d.SetPWM(s.Channel, 0, s.Off)
}

// chip returns Gobot's driver, with the chip set up. If it was set up before, other
// channels keep their pulses.
func (s servo) chip(at At, b Bus) (*i2c.PCA9685Driver, error) {
	if s.Channel < 0 || s.Channel > 15 {
		return nil, answerError("no channel %d", s.Channel)
	}
	c, err := at.direct(b)
	if err != nil {
		return nil, err
	}
	running, err := s.running(c)
	if err != nil {
		return nil, err
	}
	var bus i2c.Connector = b
	if running {
		bus = &keepsPulses{b}
	}
	d := i2c.NewPCA9685Driver(bus, at.options())
	if err := d.Start(); err != nil {
		return nil, err
	}
	if !running {
		return d, d.SetPWMFreq(float32(s.Frequency))
	}
	return d, nil
}

// get reads back which pulse the channel has.
func (s servo) get(at At, b Bus) (bool, error) {
	c, err := at.direct(b)
	if err != nil {
		return false, err
	}
	running, err := s.running(c)
	if err != nil {
		return false, err
	}
	if !running {
		return false, answerError("the board sends no pulses of %g Hz: it has lost power since the last switch command; switch it again", s.Frequency)
	}
	pulse, err := pulseOf(c, s.Channel)
	if err != nil {
		return false, err
	}
	switch pulse {
	case s.On:
		return true, nil
	case s.Off:
		return false, nil
	default:
		return false, answerError("the pulse is %d/4096 of a period, neither on (%d) nor off (%d)", pulse, s.On, s.Off)
	}
}

// pulseOf reads the end of a channel's pulse, in 4096ths of a period.
func pulseOf(c i2c.Connection, channel int) (uint16, error) {
	at := uint8(pcaChannel + 4*channel)
	low, err := c.ReadByteData(at + 2)
	if err != nil {
		return 0, err
	}
	high, err := c.ReadByteData(at + 3)
	return uint16(high&0x1f)<<8 | uint16(low), err
}

// keepsPulses is a bus on which Gobot's driver does not clear the pulses of all channels at its
// start.
type keepsPulses struct{ Bus }

// GetI2cConnection implements i2c.Connector.
func (s *keepsPulses) GetI2cConnection(address, bus int) (i2c.Connection, error) {
	c, err := s.Bus.GetI2cConnection(address, bus)
	return &keptConnection{c}, err
}

type keptConnection struct{ i2c.Connection }

func (s *keptConnection) Write(b []byte) (int, error) {
	if len(b) > 1 && b[0] >= pcaAll && b[0] < pcaPrescaler {
		return len(b), nil
	}
	return s.Connection.Write(b)
}
