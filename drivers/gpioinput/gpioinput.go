// Package gpioinput reads contacts, motion detectors (PIR) and buttons on a GPIO
// line. It is Gobot's direct pin driver on a line of package board, whose edges
// the kernel debounces and tells: what was there for a moment only is not missed
// (hold).
//
// Not supported: counting, frequencies and protocols on a line.
package gpioinput

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/board"
)

var (
	_ drivers.Sensor   = (*Input)(nil)
	_ drivers.Notifier = (*Input)(nil)
)

// Config of one input.
type Config struct {
	Line      string        `yaml:"line"`       // its name, GPIO27, or its number on the chip
	Chip      string        `yaml:"chip"`       // gpiochip0 or a chip's label; "": the one that has the line
	Quantity  string        `yaml:"quantity"`   // what it says: contact, motion, presence, occupancy, ...
	ActiveLow bool          `yaml:"active_low"` // 0 V is yes
	Bias      string        `yaml:"bias"`       // up, down, none; "": as it is
	Debounce  time.Duration `yaml:"debounce"`   // a change counts when it has lasted so long
	Hold      time.Duration `yaml:"hold"`       // yes is said for so long after it was so
}

// DefaultConfig is a contact between the line and ground: 1 where it is closed.
func DefaultConfig() Config {
	return Config{Quantity: "contact", ActiveLow: true, Bias: "up", Debounce: 10 * time.Millisecond}
}

const (
	maxDebounce = time.Second
	maxHold     = time.Hour
)

// Validate tells all that cannot be.
func (c Config) Validate() error {
	errs := []error{c.line().Validate()}
	if c.Quantity == "" {
		errs = append(errs, errors.New("quantity: is empty; write contact, motion, presence or what else it says"))
	}
	switch c.Bias {
	case "", "up", "down", "none":
	default:
		errs = append(errs, fmt.Errorf("bias: %q is unknown; write up, down or none", c.Bias))
	}
	if c.Debounce < 0 || c.Debounce > maxDebounce {
		errs = append(errs, fmt.Errorf("debounce: %v is not between 0 and %v", c.Debounce, maxDebounce))
	}
	if c.Hold < 0 || c.Hold > maxHold {
		errs = append(errs, fmt.Errorf("hold: %v is not between 0 and %v", c.Hold, maxHold))
	}
	return errors.Join(errs...)
}

func (c Config) line() board.Line { return board.Line{Chip: c.Chip, Line: c.Line} }

// Kind is the kind of driver for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "gpioinput", Class: "contact-sensor", About: "contact, motion detector or button on a GPIO line", Open: Open}
}

// Open is the drivers.Factory of this package. It touches no line.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return New(env.Name, cfg, board.Kernel{}, env.Now), nil
}

// Input is one line that is read.
type Input struct {
	drivers.Life
	cfg   Config
	chips board.Chips
	now   func() time.Time
	pin   *board.Source
	gpio  *gpio.DirectPinDriver
	bell  drivers.Bell // rung by the line's edges
	last  atomic.Int64 // when it was yes, in Unix nanoseconds
}

// New makes an input, of a valid configuration.
func New(name string, cfg Config, chips board.Chips, now func() time.Time) *Input {
	i := &Input{Life: drivers.NewLife(name), cfg: cfg, chips: chips, now: now}
	req := board.Request{Label: board.Label(name), ActiveLow: cfg.ActiveLow, Bias: cfg.Bias, Debounce: cfg.Debounce}
	req.Edge = func(bool) {
		if cfg.Hold > 0 {
			i.last.Store(now().UnixNano()) // whichever edge: it was yes before it or is now
		}
		i.bell.Ring()
	}
	i.pin = board.NewSource(chips, cfg.line(), req)
	i.gpio = gpio.NewDirectPinDriver(i.pin, cfg.Line)
	return i
}

// Holds is its line.
func (i *Input) Holds() []drivers.Hold {
	l := i.cfg.line()
	return []drivers.Hold{{Key: "line", What: l.String(), Same: l.Same(), Place: func() string { return l.Found(i.chips) }}}
}

// Connection is the Gobot adaptor below.
func (i *Input) Connection() gobot.Connection { return i.pin }

// Start requests the line.
func (i *Input) Start() error {
	if err := errors.Join(i.pin.Connect(), i.gpio.Start()); err != nil {
		return fmt.Errorf("%s: %w", i.Name(), err)
	}
	i.Opened()
	return nil
}

// Halt lets go of the line: an input is safe as it is.
func (i *Input) Halt() error {
	i.Closed()
	if err := errors.Join(i.gpio.Halt(), i.pin.Finalize()); err != nil {
		return fmt.Errorf("%s: %w", i.Name(), err)
	}
	return nil
}

// Changes is closed with the next edge of the line.
func (i *Input) Changes() <-chan struct{} { return i.bell.Changes() }

// Read reads the line: 1 is yes, now or within the last Hold.
func (i *Input) Read(ctx context.Context) ([]drivers.Reading, error) {
	_, done, err := i.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	level, err := i.gpio.DigitalRead()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.Name(), err)
	}
	now := i.now()
	if last := i.last.Load(); last != 0 && now.Sub(time.Unix(0, last)) <= i.cfg.Hold {
		level = 1
	}
	return []drivers.Reading{{Quantity: i.cfg.Quantity, Value: float64(level), At: now}}, nil
}
