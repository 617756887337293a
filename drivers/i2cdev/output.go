package i2cdev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Switch          = (*Output)(nil)
	_ drivers.SwitchReader    = (*Output)(nil)
	_ drivers.SafeReader      = (*Output)(nil)
	_ drivers.WatchdogTarget  = (*Output)(nil)
	_ drivers.StartHaltStates = (*Output)(nil)
)

// Ends contains the levels of an output at Start and at Halt.
type Ends struct {
	Initial string `yaml:"initial"` // on, off or keep
	Safe    string `yaml:"safe"`    // on, off or keep
}

func (e Ends) validate() error {
	var errs []error
	for _, level := range [][2]string{{"initial", e.Initial}, {"safe", e.Safe}} {
		if key, word := level[0], level[1]; word != "on" && word != "off" && word != "keep" {
			errs = append(errs, fmt.Errorf("%s: %q is unknown; write on, off or keep", key, word))
		}
	}
	return errors.Join(errs...)
}

// port is the switchable part of a chip.
type port interface {
	set(at At, b Bus, on bool) error
	get(at At, b Bus) (on bool, err error)
	part() (key, part string) // key of the configuration, and part of the chip
}

// Output is a switch on a port.
type Output struct {
	drivers.Base
	at    At
	ends  Ends
	port  port
	buses Buses
}

// Start sets the initial level.
func (o *Output) Start() error {
	if err := o.end(o.ends.Initial); err != nil {
		return err
	}
	o.MarkStarted()
	return nil
}

// Halt sets the safe level.
func (o *Output) Halt() error {
	o.StopVerbs()
	return o.end(o.ends.Safe)
}

// StartHaltStates returns the levels that Start and Halt set.
func (o *Output) StartHaltStates() (initial, safe string) { return o.ends.Initial, o.ends.Safe }

func (o *Output) end(word string) error {
	if word == "keep" {
		return nil
	}
	return o.set(word == "on")
}

func (o *Output) set(on bool) error {
	return o.named(o.at.use(o.buses, func(b Bus) error { return o.port.set(o.at, b, on) }))
}

func (o *Output) get() (on bool, err error) {
	err = o.at.use(o.buses, func(b Bus) (err error) { on, err = o.port.get(o.at, b); return err })
	return on && err == nil, o.named(err)
}

func (o *Output) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", o.Name(), err)
}

// Switch turns the output on or off.
func (o *Output) Switch(ctx context.Context, on bool) error {
	_, done, err := o.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	return o.set(on)
}

// On reads the chip back.
func (o *Output) On(ctx context.Context) (bool, error) {
	_, done, err := o.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	return o.get()
}

// Safe reads back whether the output is at its safe level.
func (o *Output) Safe(context.Context) (bool, error) {
	if o.ends.Safe == "keep" {
		return true, nil
	}
	on, err := o.get()
	return err == nil && on == (o.ends.Safe == "on"), err
}

// order sets a port. P is a port type of this package.
type order[P port] struct {
	At
	Device string `json:"device"`
	Port   P      `json:"port"`
	On     bool   `json:"on"`
}

// WatchdogCommands returns the commands with which another process sets the port.
func (o *Output) WatchdogCommands() drivers.WatchdogCommands {
	word := func(on bool) []byte {
		data, _ := json.Marshal(order[port]{o.at, o.Name(), o.port, on}) // JSON can represent all of its fields
		return data
	}
	orders := drivers.WatchdogCommands{Off: word(false)}
	if o.ends.Safe != "keep" {
		orders.Safe = word(o.ends.Safe == "on")
	}
	return orders
}

// Obey executes an order for a port of type P, unless the port already has the level.
func Obey[P port](buses Buses, data []byte) (changed bool, err error) {
	var o order[P]
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("i2cdev: invalid order: %w", err)
	}
	err = o.use(buses, func(b Bus) error {
		if on, err := o.Port.get(o.At, b); err == nil && on == o.On {
			return nil
		}
		changed = true // set it, too, if it cannot be read
		return o.Port.set(o.At, b, o.On)
	})
	if err != nil {
		return false, fmt.Errorf("%s: %w", o.Device, err)
	}
	return changed, nil
}
