package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Device          = (*Relay)(nil)
	_ drivers.Switch          = (*Relay)(nil)
	_ drivers.SwitchReader    = (*Relay)(nil)
	_ drivers.SafeReader      = (*Relay)(nil)
	_ drivers.WatchdogTarget  = (*Relay)(nil)
	_ drivers.StartHaltStates = (*Relay)(nil)
)

// RelayConfig is the configuration of a lamp or plug.
type RelayConfig struct {
	Line string `yaml:"line"` // line of the simulated home
	drivers.SwitchLevels
	File string `yaml:"file"` // file for the state of the line, which outlives the program; "" for memory only
}

// DefaultLampConfig returns the configuration of the porch lamp.
func DefaultLampConfig() RelayConfig {
	return RelayConfig{Line: PorchLamp, SwitchLevels: drivers.SwitchLevels{Initial: "off", Safe: "off"}}
}

// DefaultPlugConfig returns the configuration of the coffee machine's plug.
func DefaultPlugConfig() RelayConfig {
	return RelayConfig{Line: CoffeeMachine, SwitchLevels: drivers.SwitchLevels{Initial: "off", Safe: "off"}}
}

// Validate returns all errors in the configuration.
func (c RelayConfig) Validate() error {
	err := c.SwitchLevels.Validate()
	if c.Line == "" {
		err = errors.Join(errors.New("line: is empty; write the name of a line, such as "+PorchLamp), err)
	}
	return err
}

// Relay is a lamp or plug: Gobot's relay driver on a line of the world. It adds the safe
// state and readback, which Gobot's driver lacks.
type Relay struct {
	drivers.Base
	cfg   RelayConfig
	pins  *adaptor
	relay switcher
	turn  chan struct{} // semaphore for relay commands, because Gobot's driver is not safe for concurrent use
}

// switcher contains the used methods of Gobot's relay driver.
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

// openRelayAs opens a relay whose configuration cfg is a part of whole.
func openRelayAs(env drivers.Env, whole any, cfg *RelayConfig, decode func(any) error) (*Relay, error) {
	if err := decode(whole); err != nil {
		return nil, err
	}
	w, err := worldWith(env, cfg.Line, &cfg.File)
	if err != nil {
		return nil, err
	}
	return NewRelay(env.Name, *cfg, w), nil
}

// NewRelay returns a relay on a line of a world, for a valid configuration.
func NewRelay(name string, cfg RelayConfig, w *World) *Relay {
	r := &Relay{Base: drivers.NewBase(name), cfg: cfg, turn: make(chan struct{}, 1)}
	r.pins = newAdaptor(w, r.Name)
	r.relay = newSwitch(r.pins, cfg.Line)
	return r
}

// Start sets the initial level.
func (r *Relay) Start() error {
	err := r.relay.Start()
	if err == nil {
		err = r.cfg.SetInitial(r.write)
	}
	if err != nil {
		return r.WithName(err)
	}
	r.MarkStarted()
	return nil
}

// Halt sets the safe level.
func (r *Relay) Halt() error {
	r.StopVerbs()
	return r.WithName(errors.Join(r.cfg.SetSafe(r.write), r.relay.Halt()))
}

// StartHaltStates returns the levels that Start and Halt set.
func (r *Relay) StartHaltStates() (initial, safe string) { return r.cfg.StartHaltStates() }

func (r *Relay) write(on bool) error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if on {
		return r.relay.On()
	}
	return r.relay.Off()
}

// Switch turns the relay on or off.
func (r *Relay) Switch(ctx context.Context, on bool) error {
	return r.Do(ctx, func(context.Context) error { return r.write(on) })
}

// On reads the line back.
func (r *Relay) On(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &r.Base, func(context.Context) (bool, error) { return r.read() })
}

func (r *Relay) read() (bool, error) {
	level, err := r.pins.DigitalRead(r.cfg.Line)
	return level == 1, err
}

// Safe reads back whether the line is at its safe level.
func (r *Relay) Safe(context.Context) (bool, error) {
	on, err := r.read()
	return err == nil && (r.cfg.Safe == "keep" || on == (r.cfg.Safe == "on")), r.WithName(err)
}

// order sets a line in a file to a level.
type order struct {
	File   string `json:"file"` // absolute
	Device string `json:"device"`
	On     bool   `json:"on"`
}

// WatchdogCommands returns the commands with which another process switches the line of this
// relay. There are none for a line in memory.
func (r *Relay) WatchdogCommands() drivers.WatchdogCommands {
	if r.cfg.File == "" {
		return drivers.WatchdogCommands{}
	}
	return r.cfg.WatchdogCommands(func(on bool) any { return order{r.cfg.File, r.Name(), on} })
}

// runWatchdogCommand executes an order, unless the line already has the level.
func runWatchdogCommand(data []byte) (changed bool, err error) {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("sim: invalid order: %w", err)
	}
	is, err := file(o.File).on()
	if err == nil && is == o.On {
		return false, nil
	}
	// Switch a line that cannot be read, too.
	if err := file(o.File).set(o.Device+" (guard)", o.On, time.Now()); err != nil {
		return false, fmt.Errorf("%s: %w", o.Device, err)
	}
	return true, nil
}

// adaptor is a Gobot adaptor whose pins are lines of the world.
type adaptor struct {
	name   string
	world  *World
	device func() string // name of the writing device
}

var _ gobot.Adaptor = (*adaptor)(nil)

func newAdaptor(w *World, device func() string) *adaptor {
	return &adaptor{name: "sim", world: w, device: device}
}

func (a *adaptor) Name() string        { return a.name }
func (a *adaptor) SetName(name string) { a.name = name }
func (a *adaptor) Connect() error      { return nil }
func (a *adaptor) Finalize() error     { return nil }

// DigitalWrite sets a line: 1 is on.
func (a *adaptor) DigitalWrite(pin string, level byte) error {
	if level > 1 {
		return fmt.Errorf("sim: line %s: unknown level %d; write 0 or 1", pin, level)
	}
	return a.world.set(a.device(), pin, level == 1)
}

// DigitalRead reads a line back.
func (a *adaptor) DigitalRead(pin string) (int, error) {
	on, err := a.world.level(pin)
	if err != nil || !on {
		return 0, err
	}
	return 1, nil
}
