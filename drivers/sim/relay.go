package sim

import (
	"context"
	"errors"
	"fmt"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Device       = (*Relay)(nil)
	_ drivers.Switch       = (*Relay)(nil)
	_ drivers.SwitchReader = (*Relay)(nil)
)

// Lines of the simulated home's relays.
const (
	porchLine  = "porch-lamp"
	coffeeLine = "coffee-machine"
)

// adaptor is a Gobot adaptor whose pins are lines of the world.
type adaptor struct {
	name  string
	world *World
}

var _ gpio.DigitalWriter = (*adaptor)(nil)

func (a *adaptor) Name() string        { return a.name }
func (a *adaptor) SetName(name string) { a.name = name }
func (a *adaptor) Connect() error      { return nil }
func (a *adaptor) Finalize() error     { return nil }

// DigitalWrite sets a line.
func (a *adaptor) DigitalWrite(pin string, level byte) error {
	a.world.SetLine(pin, level)
	return nil
}

// DigitalRead reads a line back.
func (a *adaptor) DigitalRead(pin string) (int, error) { return int(a.world.Line(pin)), nil }

// RelayConfig of a lamp or plug.
type RelayConfig struct {
	Line    string `yaml:"line"`    // of the simulated home
	Initial string `yaml:"initial"` // on, off or keep, when it starts
	Safe    string `yaml:"safe"`    // on, off or keep, when it ends
}

// Validate tells what cannot be.
func (c RelayConfig) Validate() error {
	var errs []error
	if c.Line == "" {
		errs = append(errs, errors.New("line: is empty; write the name of a line, such as "+porchLine))
	}
	for key, word := range map[string]string{"initial": c.Initial, "safe": c.Safe} {
		if word != "on" && word != "off" && word != "keep" {
			errs = append(errs, fmt.Errorf("%s: %q is unknown; write on, off or keep", key, word))
		}
	}
	return errors.Join(errs...)
}

// Relay is a lamp or plug: Gobot's relay driver on a line of the world. Gobot's
// driver has no safe state and cannot read back; both are added here.
type Relay struct {
	life
	cfg   RelayConfig
	pins  *adaptor
	relay *gpio.RelayDriver
	turn  chan struct{} // held while the relay is switched: Gobot's driver is not made for two at once
}

func openLamp(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	return openRelay(env, decode, porchLine)
}

func openPlug(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	return openRelay(env, decode, coffeeLine)
}

func openRelay(env drivers.Env, decode func(any) error, line string) (drivers.Device, error) {
	cfg := RelayConfig{Line: line, Initial: "off", Safe: "off"}
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := worldOf(env)
	if err != nil {
		return nil, err
	}
	return NewRelay(env.Name, cfg, w), nil
}

// NewRelay makes a relay on a line of a world.
func NewRelay(name string, cfg RelayConfig, w *World) *Relay {
	a := &adaptor{name: "sim", world: w}
	return &Relay{life: life{name: name}, cfg: cfg, pins: a, relay: gpio.NewRelayDriver(a, cfg.Line), turn: make(chan struct{}, 1)}
}

// Connection is the Gobot adaptor below.
func (r *Relay) Connection() gobot.Connection { return r.pins }

// Start sets the initial level.
func (r *Relay) Start() error {
	if err := r.relay.Start(); err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	if err := r.set(r.cfg.Initial); err != nil {
		return err
	}
	r.start()
	return nil
}

// Halt sets the safe level.
func (r *Relay) Halt() error {
	r.halt()
	return errors.Join(r.set(r.cfg.Safe), r.relay.Halt())
}

// set sets on, off, or nothing.
func (r *Relay) set(word string) error {
	if word == "keep" {
		return nil
	}
	return r.write(word == "on")
}

func (r *Relay) write(on bool) error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if on {
		return r.relay.On()
	}
	return r.relay.Off()
}

// Switch turns it on or off.
func (r *Relay) Switch(ctx context.Context, on bool) error {
	_, done, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := r.write(on); err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	return nil
}

// On reads the line back.
func (r *Relay) On(ctx context.Context) (bool, error) {
	_, done, err := r.begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	level, err := r.pins.DigitalRead(r.cfg.Line)
	return level == 1, err
}
