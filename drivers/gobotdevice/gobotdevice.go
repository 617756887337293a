// Package gobotdevice makes a device for messkit from a device and an adaptor of Gobot. It
// adds the parts that Gobot lacks: a safe state at Start and at Halt, and verbs that end with
// Halt.
package gobotdevice

import (
	"context"
	"sync"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Switch = (*Switch)(nil)
	_ drivers.Sensor = (*Sensor)(nil)
)

// OnOff is a device of Gobot that switches, such as a relay, an LED or a buzzer.
type OnOff interface {
	gobot.Device
	On() error
	Off() error
}

// base starts a device of Gobot on its adaptor.
type base struct {
	drivers.Base
	adaptor gobot.Connection
	device  gobot.Device
	mu      sync.Mutex // one call to the device at a time
}

func (b *base) start() error {
	if err := b.adaptor.Connect(); err != nil {
		return b.WithName(err)
	}
	return b.WithName(b.device.Start())
}

// call runs f as a verb, and no other call at the same time. Gobot cannot end a call early.
func (b *base) call(ctx context.Context, f func() error) error {
	return b.Do(ctx, func(context.Context) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		return f()
	})
}

// Switch is a switch on a device of Gobot. It is off after Start and after Halt. It has no
// state to read back, because Gobot only remembers the last command.
type Switch struct {
	base
	relay OnOff
}

// NewSwitch returns the switch name, whose relay uses adaptor. It opens nothing.
func NewSwitch(name string, adaptor gobot.Connection, relay OnOff) *Switch {
	return &Switch{base: base{Base: drivers.NewBase(name), adaptor: adaptor, device: relay}, relay: relay}
}

// Start opens the adaptor, starts the relay, and turns it off.
func (s *Switch) Start() error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.off(); err != nil {
		return err
	}
	s.MarkStarted()
	return nil
}

// Halt turns the relay off. It leaves the adaptor open, because Gobot turns the pins of a
// closed adaptor into inputs, and an input switches some relays on.
func (s *Switch) Halt() error {
	s.StopVerbs()
	return s.off()
}

func (s *Switch) off() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WithName(s.relay.Off())
}

// Switch turns the relay on or off.
func (s *Switch) Switch(ctx context.Context, on bool) error {
	if on {
		return s.call(ctx, s.relay.On)
	}
	return s.call(ctx, s.relay.Off)
}

// Sensor is a sensor on a device of Gobot.
type Sensor struct {
	base
	read func() ([]drivers.Reading, error)
}

// NewSensor returns the sensor name, whose device uses adaptor. read measures with the
// device, which is started. NewSensor opens nothing.
func NewSensor(name string, adaptor gobot.Connection, device gobot.Device, read func() ([]drivers.Reading, error)) *Sensor {
	return &Sensor{base: base{Base: drivers.NewBase(name), adaptor: adaptor, device: device}, read: read}
}

// Start opens the adaptor and starts the device.
func (s *Sensor) Start() error {
	if err := s.start(); err != nil {
		return err
	}
	s.MarkStarted()
	return nil
}

// Halt waits for a measurement under way, and halts the device.
func (s *Sensor) Halt() error {
	s.StopVerbs()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WithName(s.device.Halt())
}

// Read measures.
func (s *Sensor) Read(ctx context.Context) (list []drivers.Reading, err error) {
	err = s.call(ctx, func() (err error) { list, err = s.read(); return err })
	if err != nil {
		return nil, err
	}
	return list, nil
}
