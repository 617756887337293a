package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Device       = (*Relay)(nil)
	_ drivers.Switch       = (*Relay)(nil)
	_ drivers.SwitchReader = (*Relay)(nil)
	_ drivers.SafeReader   = (*Relay)(nil)
	_ drivers.Guarded      = (*Relay)(nil)
	_ drivers.Levels       = (*Relay)(nil)
)

// RelayConfig of a lamp or plug.
type RelayConfig struct {
	Line    string `yaml:"line"`    // of the simulated home
	Initial string `yaml:"initial"` // on, off or keep, when it starts
	Safe    string `yaml:"safe"`    // on, off or keep, when it ends
	File    string `yaml:"file"`    // where the line is kept, so that it outlives the program; "" for memory alone
}

// DefaultLampConfig is that of the porch lamp.
func DefaultLampConfig() RelayConfig {
	return RelayConfig{Line: PorchLamp, Initial: "off", Safe: "off"}
}

// DefaultPlugConfig is that of the coffee machine's plug.
func DefaultPlugConfig() RelayConfig {
	return RelayConfig{Line: CoffeeMachine, Initial: "off", Safe: "off"}
}

// Validate tells what cannot be.
func (c RelayConfig) Validate() error {
	var errs []error
	if c.Line == "" {
		errs = append(errs, errors.New("line: is empty; write the name of a line, such as "+PorchLamp))
	}
	for _, level := range [][2]string{{"initial", c.Initial}, {"safe", c.Safe}} {
		if key, word := level[0], level[1]; word != "on" && word != "off" && word != "keep" {
			errs = append(errs, fmt.Errorf("%s: %q is unknown; write on, off or keep", key, word))
		}
	}
	return errors.Join(errs...)
}

// Relay is a lamp or plug: Gobot's relay driver on a line of the world. Gobot's
// driver has no safe state and cannot read back; both are added here.
type Relay struct {
	drivers.Life
	cfg   RelayConfig
	pins  *adaptor
	relay switcher
	turn  chan struct{} // held while the relay is switched: Gobot's driver is not made for two at once
}

// switcher is what is used of Gobot's relay driver.
type switcher interface {
	Start() error
	Halt() error
	On() error
	Off() error
}

func openLamp(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	return openRelay(env, DefaultLampConfig(), decode)
}

func openPlug(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	return openRelay(env, DefaultPlugConfig(), decode)
}

func openRelay(env drivers.Env, cfg RelayConfig, decode func(any) error) (drivers.Device, error) {
	r, err := openRelayAs(env, &cfg, &cfg, decode)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openRelayAs opens a relay of a configuration that cfg is a part of.
func openRelayAs(env drivers.Env, whole any, cfg *RelayConfig, decode func(any) error) (*Relay, error) {
	if err := decode(whole); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	if cfg.File != "" {
		if cfg.File, err = filepath.Abs(cfg.File); err == nil { // orders go to a process that is elsewhere
			err = w.Keep(cfg.Line, cfg.File)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", env.Name, err)
		}
	}
	return NewRelay(env.Name, *cfg, w), nil
}

// NewRelay makes a relay on a line of a world, of a valid configuration.
func NewRelay(name string, cfg RelayConfig, w *World) *Relay {
	r := &Relay{Life: drivers.NewLife(name), cfg: cfg, turn: make(chan struct{}, 1)}
	r.pins = newAdaptor(w, r.Name)
	r.relay = newSwitch(r.pins, cfg.Line)
	return r
}

// Connection is the Gobot adaptor below.
func (r *Relay) Connection() gobot.Connection { return r.pins }

// Start sets the initial level.
func (r *Relay) Start() error {
	if err := r.relay.Start(); err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	if err := r.set(r.cfg.Initial); err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	r.Opened()
	return nil
}

// Halt sets the safe level.
func (r *Relay) Halt() error {
	r.Closed()
	if err := errors.Join(r.set(r.cfg.Safe), r.relay.Halt()); err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
	}
	return nil
}

// Levels are what Start and Halt set.
func (r *Relay) Levels() (initial, safe string) { return r.cfg.Initial, r.cfg.Safe }

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
	_, done, err := r.Begin(ctx)
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
	_, done, err := r.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	level, err := r.pins.DigitalRead(r.cfg.Line)
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.Name(), err)
	}
	return level == 1, nil
}

// Safe reads back whether the line is at its safe level.
func (r *Relay) Safe(context.Context) (bool, error) {
	level, err := r.pins.DigitalRead(r.cfg.Line)
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.Name(), err)
	}
	return r.cfg.Safe == "keep" || (level == 1) == (r.cfg.Safe == "on"), nil
}
