// Package i2cdev drives chips on an I2C bus with Gobot's drivers: the sensors
// BME280, BMP280 (Bosch) and SHT3x (Sensirion), the converter ADS1115 (TI), relay
// boards with an MCP23017 (Microchip), and servos on a PCA9685 (NXP).
//
// The bus is open only while a verb is under way: a bus or chip may vanish and come
// back, and is set up anew then. What Gobot's drivers get wrong is closed below
// them, on the connection that they are given.
//
// Not supported: interrupts, 10-bit addresses, multiplexers that the kernel does
// not know (those that it does are buses of their own).
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

// Kinds are the kinds of chips.
func Kinds() []drivers.Kind {
	return []drivers.Kind{
		{Name: "i2c-ads1115", Class: "sensor", About: "ADS1115: voltages, or what they stand for (Gobot)", Open: openADS1115},
		{Name: "i2c-bme280", Class: "thermometer", About: "BME280: temperature, humidity, air pressure (Gobot)", Open: openBME280},
		{Name: "i2c-bmp280", Class: "thermometer", About: "BMP280: temperature, air pressure (Gobot)", Open: openBMP280},
		{Name: "i2c-mcp23017", Class: "relay", About: "relay on a board with an MCP23017 (Gobot)", Open: openMCP23017, Obey: func(order []byte) (bool, error) { return ObeyMCP23017(System{}, order) }},
		{Name: "i2c-pca9685", Class: "switch", About: "servo of two positions on a PCA9685 (Gobot)", Open: openPCA9685, Obey: func(order []byte) (bool, error) { return ObeyPCA9685(System{}, order) }},
		{Name: "i2c-servo", Class: "servo", About: "servo that turns to angles, on a PCA9685 (Gobot)", Open: openServo, Obey: func(order []byte) (bool, error) { return ObeyServo(System{}, order) }},
		{Name: "i2c-sht3x", Class: "thermometer", About: "SHT30, SHT31, SHT35: temperature, humidity (Gobot)", Open: openSHT3x},
	}
}

// Buses are the machine's buses, or what plays them in a test.
type Buses interface {
	// Connect opens a bus by its number or by its adapter's name; "" is the only
	// one, or a Pi's.
	Connect(bus string) (Bus, error)
}

// Bus is a bus that is open: a Gobot adaptor whose default bus it is. Finalize
// closes it.
type Bus interface {
	gobot.Adaptor
	i2c.Connector
}

// System is the buses of this machine.
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

// sysBuses is where the kernel names its buses.
const sysBuses = "/sys/class/i2c-dev"

// adaptor is Gobot's for a bus, with the name that it lacks.
type adaptor struct{ *adaptors.I2cBusAdaptor }

func (adaptor) Name() string   { return "i2c" }
func (adaptor) SetName(string) {}

// howToHave is how one comes by an I2C bus.
const howToHave = "switch it on with sudo raspi-config nonint do_i2c 0 on a Pi, with sudo modprobe i2c-dev elsewhere, or plug in the bridge"

// reachable tells why a bus cannot be opened, before a chip is blamed for it: Gobot
// opens it with the first message.
func reachable(name string, number int) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no I2C bus %d (%s); %s; ls /dev/i2c-* shows which there are", number, name, howToHave)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; let messkit's user into the group that it has (sudo usermod -aG i2c USER on a Pi), and log in again", err)
	case err != nil:
		return err
	}
	return f.Close()
}

// number is the number of a bus, from folder's names of adapters.
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
		name, _ := os.ReadFile(filepath.Join(dir, "name")) // one without a name is found by its number
		list = append(list, fmt.Sprintf("%d %q", n, strings.TrimSpace(string(name))))
		switch {
		case bus == "" && n == 1:
			return 1, nil // a Pi's header
		case strings.Contains(string(name), bus):
			found = append(found, n)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(list) == 0:
		return 0, errors.New("there is no I2C bus (/dev/i2c-*); " + howToHave)
	case len(found) == 0:
		return 0, fmt.Errorf("no I2C bus is called %q; there are: %s", bus, strings.Join(list, ", "))
	}
	return 0, fmt.Errorf("it may be on any of several I2C buses; write bus: with one of: %s", strings.Join(list, ", "))
}

// At is where a chip is.
type At struct {
	Bus     string  `yaml:"bus" json:"bus,omitempty"` // its number, or a part of its adapter's name; "": the only one, or a Pi's
	Address Address `yaml:"address" json:"address"`
}

// Address is one of 7 bits, as i2cdetect shows it: 0x76.
type Address int

// UnmarshalText takes 0x76, and 118.
func (a *Address) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 7)
	if err != nil {
		return fmt.Errorf("%q is no address; write it as i2cdetect shows it, like 0x76", text)
	}
	*a = Address(n)
	return nil
}

// MarshalText writes 0x76.
func (a Address) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#02x", int(a)), nil }

func (a At) validate(from, to Address) error {
	if n, err := strconv.Atoi(a.Bus); err == nil && n < 0 {
		return errors.Join(fmt.Errorf("bus: %d is none; ls /dev/i2c-* shows which there are", n), a.checkAddress(from, to))
	}
	return a.checkAddress(from, to)
}

func (a At) checkAddress(from, to Address) error {
	if a.Address >= from && a.Address <= to {
		return nil
	}
	meant, err := strconv.ParseUint(strconv.Itoa(int(a.Address)), 16, 8) // 76, as i2cdetect shows 0x76
	if err == nil && Address(meant) >= from && Address(meant) <= to {
		return fmt.Errorf("address: %d is %#[1]x; write %#x as i2cdetect counts", int(a.Address), meant)
	}
	return fmt.Errorf("address: %#x is none of the chip's; it has %#x to %#x", int(a.Address), int(from), int(to))
}

// locks keep two devices on one chip from what takes several messages. They are by
// the chip's bus and address.
var locks sync.Map // of *sync.Mutex by [2]int

// tries of what is said to a chip: a message that noise or a slow adapter has lost
// is sent again. Nothing of this package does more when it is done twice.
const tries = 3

// use does something with a chip.
func (a At) use(buses Buses, f func(b Bus) error) (err error) {
	for n := range tries {
		err = a.once(buses, f)
		if _, shut := errors.AsType[*shutError](err); shut && n == 0 {
			return &finalError{drivers.NotDone(err)}
		}
		if _, final := errors.AsType[*finalError](err); err == nil || final {
			return err
		}
	}
	return err
}

// finalError is one that trying again does not help: there is no such bus, the
// verb has ended, or the chip has answered what cannot be right.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// shutError is a bus that cannot be opened: this time the chip was told nothing.
type shutError struct{ error }

func (e *shutError) Unwrap() error { return e.error }

// wrong is an answer of a chip that cannot be right.
func wrong(format string, args ...any) error { return &finalError{fmt.Errorf(format, args...)} }

// once opens the bus, does something with the chip and closes it.
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

// advice is what to do about a chip that was not had, or has not answered. Gobot
// keeps the words of the system's errors, and not the errors.
func advice(err error, bus int) string {
	if strings.Contains(err.Error(), syscall.EBUSY.Error()) {
		return fmt.Sprintf("a driver of the kernel has this chip, and i2cdetect -y %d shows UU there; remove its overlay, and restart", bus)
	}
	return fmt.Sprintf("is it wired and powered, and does i2cdetect -y %d show it?", bus)
}

// direct is a connection to the chip itself, past Gobot's driver.
func (a At) direct(b Bus) (i2c.Connection, error) {
	return b.GetI2cConnection(int(a.Address), b.DefaultI2cBus())
}

// options are what a Gobot driver is told.
func (a At) options() func(i2c.Config) { return i2c.WithAddress(int(a.Address)) }
