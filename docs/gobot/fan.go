// Package gobot is an example: a Gobot adaptor of one's own, Gobot's relay driver
// on it, and the few lines that make of both a kind of driver for messkit
// (docs/how-to/own-driver.md).
package gobot

import (
	"context"
	"fmt"
	"os"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"

	"github.com/messkit/messkit/drivers"
)

var _ drivers.Switch = (*Fan)(nil)

// Kind is what messkit is told of it.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "my-fan", Class: "fan", About: "the fan on my own board", Open: func(env drivers.Env, decode func(any) error) (drivers.Device, error) {
		cfg := Config{Pin: "1"}
		if err := decode(&cfg); err != nil {
			return nil, err
		}
		board := &Board{file: cfg.File}
		return &Fan{Life: drivers.NewLife(env.Name), board: board, relay: gpio.NewRelayDriver(board, cfg.Pin)}, nil
	}}
}

// Config is what a configuration says of it.
type Config struct {
	File string `yaml:"file"`
	Pin  string `yaml:"pin"`
}

// Fan is a relay. drivers.Life has its name, and refuses verbs while it is not
// started.
type Fan struct {
	drivers.Life
	board *Board
	relay *gpio.RelayDriver
}

// Connection is the adaptor.
func (f *Fan) Connection() gobot.Connection { return f.board }

// Start makes it ready.
func (f *Fan) Start() error { f.Opened(); return f.relay.Start() }

// Halt takes it to its safe state: Gobot's own Halt leaves a relay as it is.
func (f *Fan) Halt() error { f.Closed(); return f.turn(false) }

// Switch turns it on or off.
func (f *Fan) Switch(ctx context.Context, on bool) error {
	_, done, err := f.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	return f.turn(on)
}

func (f *Fan) turn(on bool) error {
	do := f.relay.Off
	if on {
		do = f.relay.On
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

// Board is the adaptor: its pins are words in a file.
type Board struct{ name, file string }

// Name is the board's.
func (b *Board) Name() string { return b.name }

// SetName changes it.
func (b *Board) SetName(name string) { b.name = name }

// Connect opens the board.
func (b *Board) Connect() error { return nil }

// Finalize closes it.
func (b *Board) Finalize() error { return nil }

// DigitalWrite sets a pin.
func (b *Board) DigitalWrite(pin string, level byte) error {
	return os.WriteFile(b.file, fmt.Appendf(nil, "pin %s is %d\n", pin, level), 0o600)
}
