package i2cdev

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
)

// MCP23017Config is the configuration of one relay on a board.
type MCP23017Config struct {
	At
	drivers.SwitchLevels
	Pin       string `yaml:"pin"`        // A0 to A7, B0 to B7
	ActiveLow bool   `yaml:"active_low"` // 0 V turns the relay on
}

// DefaultMCP23017Config returns a configuration without a pin.
func DefaultMCP23017Config() MCP23017Config {
	return MCP23017Config{At: At{Address: 0x20}, SwitchLevels: drivers.SwitchLevels{Initial: "off", Safe: "off"}}
}

// Validate returns all errors in the configuration.
func (c MCP23017Config) Validate() error {
	errs := []error{c.At.validate(0x20, 0x27), c.SwitchLevels.Validate()}
	if !(pin{Pin: c.Pin}).valid() {
		errs = append(errs, fmt.Errorf("pin: %q is invalid; write A0 to A7 or B0 to B7", c.Pin))
	}
	return errors.Join(errs...)
}

// NewMCP23017 returns a relay for a valid configuration.
func NewMCP23017(name string, cfg MCP23017Config, buses Buses) *Output {
	return &Output{Base: drivers.NewBase(name), at: cfg.At, SwitchLevels: cfg.SwitchLevels, port: pin{cfg.Pin, cfg.ActiveLow}, buses: buses}
}

// RunMCP23017Command executes orders for such relays.
func RunMCP23017Command(buses Buses, order []byte) (bool, error) {
	return RunWatchdogCommand[pin](buses, order)
}

// pin is one pin of an MCP23017.
type pin struct {
	Pin       string `json:"pin"`
	ActiveLow bool   `json:"active_low,omitempty"`
}

func (p pin) valid() bool {
	return len(p.Pin) == 2 && strings.ContainsRune("ABab", rune(p.Pin[0])) && p.Pin[1] >= '0' && p.Pin[1] <= '7'
}

// split returns the pin in the notation of Gobot.
func (p pin) split() (n uint8, bank string, err error) {
	if !p.valid() {
		return 0, "", answerError("no pin has the name %q", p.Pin)
	}
	return p.Pin[1] - '0', strings.ToUpper(p.Pin[:1]), nil
}

// set sets the level first and then makes the pin an output. Gobot's order would set the
// old level for a moment.
func (p pin) set(at At, b Bus, on bool) error {
	n, bank, err := p.split()
	if err != nil {
		return err
	}
	d := at.expander(b)
	if err := d.Start(); err != nil {
		return err
	}
	level := uint8(0)
	if on != p.ActiveLow {
		level = 1
	}
	if err := d.WriteGPIO(n, bank, level); err != nil {
		return err
	}
	return d.SetPinMode(n, bank, 0)
}

// expanders caches Gobot's drivers by bus and address, because each has a goroutine that
// never ends. A caller needs the lock of the chip.
var expanders sync.Map // *expander by [2]int

type expander struct {
	Bus    // the open bus
	driver *i2c.MCP23017Driver
}

// expander returns Gobot's driver for a chip on a bus.
func (a At) expander(b Bus) *i2c.MCP23017Driver {
	key := [2]int{b.DefaultI2cBus(), int(a.Address)}
	found, ok := expanders.Load(key)
	if !ok {
		e := &expander{Bus: b}
		e.driver = i2c.NewMCP23017Driver(e, a.options(), i2c.WithMCP23017AutoIODirOff(1))
		found, _ = expanders.LoadOrStore(key, e)
	}
	e := found.(*expander)
	e.Bus = b
	return e.driver
}

// Registers (datasheet, table 3-3, bank 0); those of B follow those of A.
const (
	mcpDirection = 0x00
	mcpLevels    = 0x12
)

// get reads the pin without Gobot, which would make it an input.
func (p pin) get(at At, b Bus) (bool, error) {
	n, bank, err := p.split()
	if err != nil {
		return false, err
	}
	c, err := at.direct(b)
	if err != nil {
		return false, err
	}
	var next uint8
	if bank == "B" {
		next = 1
	}
	inputs, err := c.ReadByteData(mcpDirection + next)
	if err != nil {
		return false, err
	}
	if inputs>>n&1 == 1 {
		return false, answerError("pin %s is an input: the board has lost power since the last switch command; switch it again", p.Pin)
	}
	levels, err := c.ReadByteData(mcpLevels + next)
	return (levels>>n&1 == 1) != p.ActiveLow, err
}
