// Package i2cdev drives chips on an I2C bus with Gobot's drivers: the sensors BME280,
// BMP280 (Bosch) and SHT3x (Sensirion), the converter ADS1115 (TI), relay boards with an
// MCP23017 (Microchip), and servos on a PCA9685 (NXP).
//
// The bus is open only during a verb, and each verb sets up its chip, so a bus or chip may
// vanish and return. This package corrects the errors of Gobot's drivers on the connection
// below them.
//
// Not supported: interrupts, 10-bit addresses, multiplexers unknown to the kernel (for the
// kernel, each output of a known multiplexer is a bus).
package i2cdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/i2c"
	"gobot.io/x/gobot/v2/platforms/adaptors"
	"gobot.io/x/gobot/v2/system"

	"github.com/messkit/messkit/drivers"
)

// Kinds returns the driver kinds of this package.
func Kinds() []drivers.Kind {
	return []drivers.Kind{
		{Name: "i2c-ads1115", Class: "sensor", About: "ADS1115: voltages, or the quantities that they represent (Gobot)", Open: sensor(DefaultADS1115Config, NewADS1115)},
		{Name: "i2c-bme280", Class: "thermometer", About: "BME280: temperature, humidity, air pressure (Gobot)", Open: sensor(DefaultBoschConfig, NewBME280)},
		{Name: "i2c-bmp280", Class: "thermometer", About: "BMP280: temperature, air pressure (Gobot)", Open: sensor(DefaultBoschConfig, NewBMP280)},
		{Name: "i2c-mcp23017", Class: "relay", About: "relay on a board with an MCP23017 (Gobot)", Open: output(DefaultMCP23017Config, NewMCP23017), RunWatchdogCommand: func(order []byte) (bool, error) { return RunMCP23017Command(System{}, order) }},
		{Name: "i2c-pca9685", Class: "switch", About: "servo of two positions on a PCA9685 (Gobot)", Open: output(DefaultPCA9685Config, NewPCA9685), RunWatchdogCommand: func(order []byte) (bool, error) { return RunPCA9685Command(System{}, order) }},
		{Name: "i2c-servo", Class: "servo", About: "servo that turns to angles, on a PCA9685 (Gobot)", Open: output(DefaultServoConfig, NewServo), RunWatchdogCommand: func(order []byte) (bool, error) { return RunServoCommand(System{}, order) }},
		{Name: "i2c-sht3x", Class: "thermometer", About: "SHT30, SHT31, SHT35: temperature, humidity (Gobot)", Open: sensor(DefaultSHT3xConfig, NewSHT3x)},
	}
}

// sensor returns the factory of a sensor on a bus of this host.
func sensor[C any](defaults func() C, create func(drivers.Env, C, Buses) *Sensor) drivers.Factory {
	return drivers.NewFactory(defaults, func(env drivers.Env, cfg C) (*Sensor, error) { return create(env, cfg, System{}), nil })
}

// output returns the factory of an output on a bus of this host.
func output[C any, D drivers.Device](defaults func() C, create func(string, C, Buses) D) drivers.Factory {
	return drivers.NewFactory(defaults, func(env drivers.Env, cfg C) (D, error) { return create(env.Name, cfg, System{}), nil })
}

// Buses gives access to the I2C buses of the host, or to simulated buses in a test.
type Buses interface {
	// Connect opens a bus by its number or the name of its adapter. "" means the only bus,
	// or the header of a Pi.
	Connect(bus string) (Bus, error)
}

// Bus is an open bus: a Gobot adaptor with this bus as its default. Finalize closes it.
type Bus interface {
	gobot.Adaptor
	i2c.Connector
}

// System gives access to the buses of this host.
type System struct{}

var _ Buses = System{}

// Connect implements Buses.
func (System) Connect(bus string) (Bus, error) {
	n, err := number(bus, sysBuses)
	if err != nil {
		return nil, err
	}
	if err := reachable(fmt.Sprintf("/dev/i2c-%d", n), n); err != nil {
		return nil, err
	}
	a := &adaptor{adaptors.NewI2cBusAdaptor(system.NewAccesser(), func(int) error { return nil }, n)}
	return a, a.Connect()
}

// sysBuses is the folder in which the kernel lists its buses.
const sysBuses = "/sys/class/i2c-dev"

// adaptor adds the missing name to Gobot's adaptor for a bus.
type adaptor struct{ *adaptors.I2cBusAdaptor }

func (adaptor) Name() string   { return "i2c" }
func (adaptor) SetName(string) {}

// howToHave is the remedy for a missing I2C bus.
const howToHave = "enable I2C with sudo raspi-config nonint do_i2c 0 on a Pi, or with sudo modprobe i2c-dev elsewhere, or connect the bridge"

// reachable returns an error if the bus cannot be opened. Without it Gobot would open the
// bus with the first message, and the error would name the chip.
func reachable(name string, number int) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no I2C bus %d (%s); %s; ls /dev/i2c-* lists the buses", number, name, howToHave)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; add the user of messkit to the group of the bus (sudo usermod -aG i2c USER on a Pi), and log in again", err)
	case err != nil:
		return err
	}
	return f.Close()
}

// number returns the number of a bus. It searches folder for the name of an adapter.
func number(bus, folder string) (int, error) {
	if n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(bus, "/dev/"), "i2c-")); err == nil {
		return n, nil
	}
	all, _ := filepath.Glob(filepath.Join(folder, "i2c-*"))
	var list []string
	var found []int
	for _, dir := range all {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "i2c-"))
		if err != nil {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "name")) // a bus without a name has its number
		list = append(list, fmt.Sprintf("%d %q", n, strings.TrimSpace(string(name))))
		switch {
		case bus == "" && n == 1:
			return 1, nil // the header of a Pi
		case strings.Contains(string(name), bus):
			found = append(found, n)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(list) == 0:
		return 0, errors.New("no I2C bus (/dev/i2c-*); " + howToHave)
	case len(found) == 0:
		return 0, fmt.Errorf("no I2C bus has the name %q; the buses: %s", bus, strings.Join(list, ", "))
	}
	return 0, fmt.Errorf("several I2C buses are possible; write bus: with one of: %s", strings.Join(list, ", "))
}

// At is the address of a chip.
type At struct {
	Bus     string  `yaml:"bus" json:"bus,omitempty"` // number, or a part of the name of its adapter; "": the only bus, or the header of a Pi
	Address Address `yaml:"address" json:"address"`
}

// Address is a 7-bit address, in the notation of i2cdetect: 0x76.
type Address int

// UnmarshalText accepts 0x76 and 118.
func (a *Address) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 7)
	if err != nil {
		return fmt.Errorf("%q is not an address; write it in the notation of i2cdetect, like 0x76", text)
	}
	*a = Address(n)
	return nil
}

// MarshalText returns the notation 0x76.
func (a Address) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#02x", int(a)), nil }

func (a At) validate(from, to Address) error {
	if n, err := strconv.Atoi(a.Bus); err == nil && n < 0 {
		return errors.Join(fmt.Errorf("bus: no bus has the number %d; ls /dev/i2c-* lists the buses", n), a.checkAddress(from, to))
	}
	return a.checkAddress(from, to)
}

func (a At) checkAddress(from, to Address) error {
	if a.Address >= from && a.Address <= to {
		return nil
	}
	meant, err := strconv.ParseUint(strconv.Itoa(int(a.Address)), 16, 8) // 76 probably means 0x76
	if err == nil && Address(meant) >= from && Address(meant) <= to {
		return fmt.Errorf("address: %d is %#[1]x; write %#x, the notation of i2cdetect", int(a.Address), meant)
	}
	return fmt.Errorf("address: the chip does not support %#x; its addresses are %#x to %#x", int(a.Address), int(from), int(to))
}

// locks serializes sequences of messages to one chip by several devices. Its keys are bus
// and address.
var locks sync.Map // *sync.Mutex by [2]int

// tries is the number of attempts for an operation, because noise or a slow adapter may
// lose a message. Each operation of this package is idempotent.
const tries = 3

// use calls f with the open bus, and repeats it after an error.
func (a At) use(buses Buses, f func(b Bus) error) (err error) {
	for n := range tries {
		err = a.once(buses, f)
		if _, shut := errors.AsType[*shutError](err); shut && n == 0 {
			return &finalError{drivers.MarkNothingDone(err)}
		}
		if _, final := errors.AsType[*finalError](err); err == nil || final {
			return err
		}
	}
	return err
}

// finalError is an error that a repetition cannot solve: the bus does not exist, the verb
// has ended, or the answer of the chip is invalid.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// shutError reports that the bus cannot be opened, so this attempt sent nothing to the
// chip.
type shutError struct{ error }

func (e *shutError) Unwrap() error { return e.error }

// answerError returns an error for an invalid answer of a chip.
func answerError(format string, args ...any) error { return &finalError{fmt.Errorf(format, args...)} }

// once opens the bus, calls f and closes the bus.
func (a At) once(buses Buses, f func(b Bus) error) (err error) {
	b, err := buses.Connect(a.Bus)
	if err != nil {
		return &finalError{&shutError{err}}
	}
	lock, _ := locks.LoadOrStore([2]int{b.DefaultI2cBus(), int(a.Address)}, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	defer func() { err = errors.Join(err, b.Finalize()) }()
	err = f(b)
	if _, final := errors.AsType[*finalError](err); err == nil || final {
		return err
	}
	n := b.DefaultI2cBus()
	return fmt.Errorf("address %#x on I2C bus %d: %w; %s", int(a.Address), n, err, advice(err, n))
}

// advice returns a remedy for a chip that is in use or does not answer. Gobot keeps only
// the text of system errors.
func advice(err error, bus int) string {
	if strings.Contains(err.Error(), syscall.EBUSY.Error()) {
		return fmt.Sprintf("a kernel driver uses this chip (i2cdetect -y %d shows UU); remove its overlay, and restart", bus)
	}
	return fmt.Sprintf("check its wiring and supply, and that i2cdetect -y %d shows it", bus)
}

// direct returns a connection to the chip without Gobot's driver.
func (a At) direct(b Bus) (i2c.Connection, error) {
	return b.GetI2cConnection(int(a.Address), b.DefaultI2cBus())
}

// options returns the options for a Gobot driver.
func (a At) options() func(i2c.Config) { return i2c.WithAddress(int(a.Address)) }
