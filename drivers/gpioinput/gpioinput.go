// Package gpioinput reads contacts, motion detectors (PIR) and buttons on a GPIO line. It
// uses Gobot's direct pin driver on a line of package board. The kernel debounces the line
// and reports its edges, so the driver does not miss a short event (hold).
//
// Not supported: counters, frequencies and protocols on a line.
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
	"github.com/messkit/messkit/internal/board"
)

var (
	_ drivers.Sensor   = (*Input)(nil)
	_ drivers.Notifier = (*Input)(nil)
)

// Config is the configuration of one input.
type Config struct {
	Line      string        `yaml:"line"`       // name (GPIO27), or number on the chip
	Chip      string        `yaml:"chip"`       // gpiochip0, or the label of a chip; "": the chip that has the line
	Quantity  string        `yaml:"quantity"`   // quantity of the reading: contact, motion, presence, occupancy, ...
	ActiveLow bool          `yaml:"active_low"` // 0 V reads as 1
	Bias      string        `yaml:"bias"`       // up, down, none; "" keeps the present bias
	Debounce  time.Duration `yaml:"debounce"`   // shortest duration of a change that counts
	Hold      time.Duration `yaml:"hold"`       // how long the reading stays 1 after an event
}

// DefaultConfig returns the configuration of a contact between the line and ground: 1 means
// closed.
func DefaultConfig() Config {
	return Config{Quantity: "contact", ActiveLow: true, Bias: "up", Debounce: 10 * time.Millisecond}
}

const (
	maxDebounce = time.Second
	maxHold     = time.Hour
)

// Validate returns all errors in the configuration.
func (c Config) Validate() error {
	errs := []error{c.line().Validate()}
	if c.Quantity == "" {
		errs = append(errs, errors.New("quantity: empty; write contact, motion, presence or another quantity"))
	}
	errs = append(errs, board.CheckBias(c.Bias))
	if c.Debounce < 0 || c.Debounce > maxDebounce {
		errs = append(errs, fmt.Errorf("debounce: %v is not between 0 and %v", c.Debounce, maxDebounce))
	}
	if c.Hold < 0 || c.Hold > maxHold {
		errs = append(errs, fmt.Errorf("hold: %v is not between 0 and %v", c.Hold, maxHold))
	}
	return errors.Join(errs...)
}

func (c Config) line() board.Line { return board.Line{Chip: c.Chip, Line: c.Line} }

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{
		Name: "gpioinput", Class: "contact-sensor", About: "contact, motion detector or button on a GPIO line",
		Open: drivers.NewFactory(DefaultConfig, func(env drivers.Env, cfg Config) (*Input, error) {
			return New(env.Name, cfg, board.Kernel{}, env.Now), nil
		}),
	}
}

// Input is one input line.
type Input struct {
	drivers.Base
	cfg   Config
	chips board.Chips
	now   func() time.Time
	pin   *board.InputLine
	gpio  *gpio.DirectPinDriver
	edges drivers.Signal // signals each edge of the line
	last  atomic.Int64   // time of the last event in Unix nanoseconds
}

// New returns an input for a valid configuration. It does not request the line.
func New(name string, cfg Config, chips board.Chips, now func() time.Time) *Input {
	i := &Input{Base: drivers.NewBase(name), cfg: cfg, chips: chips, now: now}
	req := board.Request{Label: board.ConsumerName(name), ActiveLow: cfg.ActiveLow, Bias: cfg.Bias, Debounce: cfg.Debounce}
	req.Edge = func(bool) {
		if cfg.Hold > 0 {
			i.last.Store(now().UnixNano()) // each edge is the begin or the end of an event
		}
		i.edges.Notify()
	}
	i.pin = board.NewInputLine(chips, cfg.line(), req)
	i.gpio = gpio.NewDirectPinDriver(i.pin, cfg.Line)
	return i
}

// Resources returns the line.
func (i *Input) Resources() []drivers.Resource {
	l := i.cfg.line()
	return []drivers.Resource{{Key: "line", Label: l.String(), Identity: l.Identity(), Location: func() string { return l.Location(i.chips) }}}
}

// Connection returns the Gobot adaptor of the line.
func (i *Input) Connection() gobot.Connection { return i.pin }

// Start requests the line.
func (i *Input) Start() error {
	if err := errors.Join(i.pin.Connect(), i.gpio.Start()); err != nil {
		return i.WithName(err)
	}
	i.MarkStarted()
	return nil
}

// Halt releases the line. An input is always in a safe state.
func (i *Input) Halt() error {
	i.StopVerbs()
	return i.WithName(errors.Join(i.gpio.Halt(), i.pin.Finalize()))
}

// Changes returns a channel that closes at the next edge of the line.
func (i *Input) Changes() <-chan struct{} { return i.edges.Changes() }

// Read reads the line: 1 is an event now or within the last Hold.
func (i *Input) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.DoValue(ctx, &i.Base, func(context.Context) ([]drivers.Reading, error) {
		level, err := i.gpio.DigitalRead()
		if err != nil {
			return nil, err
		}
		now := i.now()
		if last := i.last.Load(); last != 0 && now.Sub(time.Unix(0, last)) <= i.cfg.Hold {
			level = 1
		}
		return []drivers.Reading{{Quantity: i.cfg.Quantity, Value: float64(level), At: now}}, nil
	})
}
