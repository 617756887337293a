package i2cdev

import (
	"context"
	"encoding/json"
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

// port is the switchable part of a chip.
type port interface {
	set(at At, b Bus, on bool) error
	get(at At, b Bus) (on bool, err error)
	part() (key, part string) // key of the configuration, and part of the chip
}

// Output is a switch on a port.
type Output struct {
	drivers.Base
	at At
	drivers.SwitchLevels
	port  port
	buses Buses
}

// Start sets the initial level.
func (o *Output) Start() error {
	if err := o.SetInitial(o.set); err != nil {
		return err
	}
	o.MarkStarted()
	return nil
}

// Halt sets the safe level.
func (o *Output) Halt() error {
	o.StopVerbs()
	return o.SetSafe(o.set)
}

// set is write at Start and Halt.
func (o *Output) set(on bool) error { return o.WithName(o.write(on)) }

func (o *Output) write(on bool) error {
	return o.at.use(o.buses, func(b Bus) error { return o.port.set(o.at, b, on) })
}

func (o *Output) read() (on bool, err error) {
	err = o.at.use(o.buses, func(b Bus) (err error) { on, err = o.port.get(o.at, b); return err })
	return on && err == nil, err
}

// Switch turns the output on or off.
func (o *Output) Switch(ctx context.Context, on bool) error {
	return o.Do(ctx, func(context.Context) error { return o.write(on) })
}

// On reads the chip back.
func (o *Output) On(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &o.Base, func(context.Context) (bool, error) { return o.read() })
}

// Safe reads back whether the output is at its safe level.
func (o *Output) Safe(context.Context) (bool, error) {
	safe, err := o.IsSafe(o.read)
	return safe, o.WithName(err)
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
	return o.SwitchLevels.WatchdogCommands(func(on bool) any { return order[port]{o.at, o.Name(), o.port, on} })
}

// RunWatchdogCommand executes an order for a port of type P, unless the port already has the
// level.
func RunWatchdogCommand[P port](buses Buses, data []byte) (changed bool, err error) {
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
