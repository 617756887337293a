// Package gpiorelay drives relays, lamps and other loads on a GPIO line, and presses
// buttons with a relay (pulse). It uses Gobot's relay driver on a line of package board,
// which adds the level before the first command, the safe state, and readback.
//
// The safety policy enforces a longest time on (max_on) and groups that exclude each other
// (interlock). Not supported: dimming, and lines of the old sysfs interface.
package gpiorelay

import (
	"context"
	"errors"
	"fmt"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/wait"
)

var (
	_ drivers.Switch          = (*Relay)(nil)
	_ drivers.SwitchReader    = (*Relay)(nil)
	_ drivers.SafeReader      = (*Relay)(nil)
	_ drivers.WatchdogTarget  = (*Relay)(nil)
	_ drivers.StartHaltStates = (*Relay)(nil)
	_ drivers.Inspector       = (*Relay)(nil)
	_ drivers.Switch          = (*Button)(nil)
	_ drivers.Presser         = (*Button)(nil)
	_ drivers.SafeReader      = (*Button)(nil)
	_ drivers.WatchdogTarget  = (*Button)(nil)
	_ drivers.Unrepeatable    = (*Button)(nil)
	_ drivers.Inspector       = (*Button)(nil)
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{
		Name: "gpiorelay", Class: "relay", About: "relay, lamp or button on a GPIO line",
		Open: drivers.NewFactory(DefaultConfig, func(env drivers.Env, cfg Config) (drivers.Device, error) {
			return New(env.Name, cfg, board.Kernel{}), nil
		}),
		Discover:           func(context.Context) []drivers.FoundDevice { return Find(board.Kernel{}) },
		RunWatchdogCommand: func(order []byte) (bool, error) { return RunWatchdogCommand(board.Kernel{}, order) },
	}
}

// New returns a Relay for a valid configuration, or a Button if the configuration has a
// pulse. It does not request the line.
func New(name string, cfg Config, chips board.Chips) drivers.Device {
	o := &output{Base: drivers.NewBase(name), cfg: cfg, chips: chips, turn: make(chan struct{}, 1)}
	o.pin = board.NewOutput(chips, cfg.line(), cfg.request(name))
	o.relay = gpio.NewRelayDriver(o.pin, cfg.Line)
	if cfg.Pulse > 0 {
		return &Button{output: o}
	}
	return &Relay{output: o}
}

// output implements the common part of Relay and Button.
type output struct {
	drivers.Base
	cfg   Config
	chips board.Chips
	pin   *board.Output
	relay *gpio.RelayDriver
	turn  chan struct{} // semaphore for relay commands, because Gobot's driver is not safe for concurrent use
}

// Connection returns the Gobot adaptor of the line.
func (o *output) Connection() gobot.Connection { return o.pin }

// Start requests the line at its initial level.
func (o *output) Start() error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if err := errors.Join(o.pin.Connect(), o.relay.Start()); err != nil {
		return o.WithName(err)
	}
	o.MarkStarted()
	return nil
}

// Halt takes the line to its safe level. The line keeps that level for as long as the
// program runs.
func (o *output) Halt() error {
	o.StopVerbs()
	if o.cfg.Safe == "keep" {
		return nil
	}
	return o.WithName(errors.Join(o.write(o.cfg.Safe == "on"), o.relay.Halt()))
}

// StartHaltStates returns the levels that Start and Halt set.
func (o *output) StartHaltStates() (initial, safe string) { return o.cfg.StartHaltStates() }

func (o *output) write(on bool) error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if on {
		return o.relay.On()
	}
	return o.relay.Off()
}

// read reads the line back.
func (o *output) read() (bool, error) {
	level, err := o.pin.DigitalRead(o.cfg.Line)
	return level == 1, err
}

// Safe reads back whether the line is at its safe level.
func (o *output) Safe(context.Context) (bool, error) {
	safe, err := o.cfg.IsSafe(o.read)
	return safe, o.WithName(err)
}

// Inspect checks whether the line exists and is free.
func (o *output) Inspect(context.Context) (string, error) {
	what, err := o.pin.Status()
	return what, o.WithName(err)
}

// Resources returns the line.
func (o *output) Resources() []drivers.Resource {
	l := o.cfg.line()
	return []drivers.Resource{{Key: "line", Label: l.String(), Identity: l.Identity(), Location: func() string { return l.Location(o.chips) }}}
}

// Relay is a switch.
type Relay struct{ *output }

// Switch turns the relay on or off.
func (r *Relay) Switch(ctx context.Context, on bool) error {
	return r.Do(ctx, func(context.Context) error { return r.write(on) })
}

// On reads the line back.
func (r *Relay) On(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &r.Base, func(context.Context) (bool, error) { return r.read() })
}

// Button is a button that a relay presses: a garage door, the power button of a computer.
// It does not implement SwitchReader, because the level of the line is not the state of the
// device behind it. Two presses have another effect than one.
type Button struct{ *output }

// Unrepeatable implements drivers.Unrepeatable.
func (*Button) Unrepeatable() {}

// Press presses the button and returns when the relay has released it.
func (b *Button) Press(ctx context.Context) error { return b.Switch(ctx, true) }

// Switch with on presses the button and returns when the relay has released it. Switch with
// off releases the button.
func (b *Button) Switch(ctx context.Context, on bool) error {
	ctx, done, err := b.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !on {
		return b.WithName(b.write(false))
	}
	if err := b.write(true); err != nil {
		return b.WithName(errors.Join(err, b.write(false)))
	}
	if wait.For(ctx, b.cfg.Pulse) {
		return b.WithName(b.write(false))
	}
	return errors.Join(fmt.Errorf("%w; the relay has pressed the button for less than %v", b.EndReason(ctx), b.cfg.Pulse), b.WithName(b.write(false)))
}
