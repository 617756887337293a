//go:build linux

package inside_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/i2cdev"
	"github.com/messkit/messkit/drivers/i2cdev/i2ctest"
)

// bus returns the chips on the bridge's bus.
func bus() map[byte]Chip {
	mcp, pca := &i2ctest.Registers{}, &i2ctest.Registers{}
	mcp.Values[0], mcp.Values[1] = 0xff, 0xff // all inputs
	pca.Values[0], pca.Values[0xfe] = 0x11, 0x1e
	return map[byte]Chip{
		0x20: &i2ctest.Expander{Registers: mcp}, 0x40: pca, 0x44: &i2ctest.SHT3x{Celsius: 21.5, Percent: 48},
		wireAddress: wired(), 0x48: &i2ctest.ADS1115{}, 0x76: i2ctest.BMP280(), 0x77: i2ctest.BME280(),
	}
}

// adapter is the kernel's name of the bridge's bus.
const adapter = "CP2112"

func at(address i2cdev.Address) i2cdev.At { return i2cdev.At{Bus: adapter, Address: address} }

func env(name string) drivers.Env {
	return drivers.Env{Name: name, Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

// measured returns a sensor's values, by quantity.
func measured(t *testing.T, d drivers.Device) (map[string]float64, error) {
	t.Helper()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	list, err := d.(drivers.Sensor).Read(t.Context())
	values := map[string]float64{}
	for _, r := range list {
		values[r.Quantity] = r.Value
	}
	return values, err
}

// The kernel has its own drivers for both Bosch chips. Their measurements equal those of
// messkit's drivers.
func TestBridgeBoschMatchesKernel(t *testing.T) {
	plug(t)
	number := busNumber(t)
	for name, tt := range map[string]struct {
		address i2cdev.Address
		open    func() drivers.Device
	}{
		"bmp280": {0x76, func() drivers.Device {
			return i2cdev.NewBMP280(env("climate"), i2cdev.BoschConfig{At: at(0x76)}, i2cdev.System{})
		}},
		"bme280": {0x77, func() drivers.Device {
			return i2cdev.NewBME280(env("climate"), i2cdev.BoschConfig{At: at(0x77)}, i2cdev.System{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, err := measured(t, tt.open())
			if err != nil {
				t.Fatal(err)
			}
			dir := fmt.Sprintf("/sys/bus/i2c/devices/i2c-%d/", number)
			if err := os.WriteFile(dir+"new_device", fmt.Appendf(nil, "%s %#x", name, int(tt.address)), 0); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.WriteFile(dir+"delete_device", fmt.Appendf(nil, "%#x", int(tt.address)), 0) }()
			for quantity, kernel := range map[string]struct {
				file  string
				scale float64 // unit of the kernel's value (Documentation/ABI/testing/sysfs-bus-iio)
				near  float64
			}{
				"temperature": {"in_temp_input", 1e-3, 0.02},
				"pressure":    {"in_pressure_input", 10, 0.05},
				"humidity":    {"in_humidityrelative_input", 1e-3, 0.2},
			} {
				if _, measures := ours[quantity]; !measures {
					continue
				}
				theirs := iio(t, tt.address, kernel.file) * kernel.scale
				t.Logf("%s: ours %g, the kernel's %g", quantity, ours[quantity], theirs)
				if math.Abs(ours[quantity]-theirs) > kernel.near {
					t.Errorf("%s: ours %g, the kernel's %g", quantity, ours[quantity], theirs)
				}
			}
			if _, err := measured(t, tt.open()); err == nil || !strings.Contains(err.Error(), "climate: ") {
				t.Errorf("a chip that the kernel's driver has: %v", err)
			}
		})
	}
}

// busNumber returns the number of the bridge's bus.
func busNumber(t *testing.T) int {
	t.Helper()
	all, _ := filepath.Glob("/sys/class/i2c-dev/i2c-*/name")
	for _, name := range all {
		if is, _ := os.ReadFile(name); strings.Contains(string(is), adapter) {
			n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "i2c-"))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the bridge has no bus")
	return 0
}

// iio returns a value that the kernel's driver of a chip measures.
func iio(t *testing.T, address i2cdev.Address, file string) (value float64) {
	t.Helper()
	eventually(t, file, func() error {
		all, _ := filepath.Glob(fmt.Sprintf("/sys/bus/i2c/devices/*-%04x/iio:device*/%s", int(address), file))
		if len(all) != 1 {
			return fmt.Errorf("there are %d", len(all))
		}
		text, err := os.ReadFile(all[0])
		if err != nil {
			return err
		}
		value, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		return err
	})
	return value
}

func TestBridgeSHT3xAndADS1115(t *testing.T) {
	b := plug(t)
	sht := i2cdev.NewSHT3x(env("climate"), i2cdev.SHT3xConfig{At: at(0x44)}, i2cdev.System{})
	for _, tt := range []struct{ celsius, percent float64 }{{21.5, 48}, {-20, 95}} {
		b.ask(t, "say %d %g %g 0", 0x44, tt.celsius, tt.percent)
		got, err := measured(t, sht)
		if err != nil || math.Abs(got["temperature"]-tt.celsius) > 0.02 || math.Abs(got["humidity"]-tt.percent) > 0.1 {
			t.Errorf("%v: %v, want %+v", got, err, tt)
		}
	}
	b.ask(t, "say %d 21.5 48 1", 0x44)
	if got, err := measured(t, sht); err == nil {
		t.Errorf("a wrong checksum gives %v", got)
	}
	gone := i2cdev.NewSHT3x(env("climate"), i2cdev.SHT3xConfig{At: at(0x45)}, i2cdev.System{})
	if _, err := measured(t, gone); err == nil || !strings.Contains(err.Error(), "check its wiring and supply") {
		t.Errorf("no chip: %v", err)
	}
	cfg := i2cdev.DefaultADS1115Config()
	cfg.At, cfg.Input = at(0x48), 1
	b.ask(t, "say %d 1 -8000", 0x48)
	if got, err := measured(t, i2cdev.NewADS1115(env("volts"), cfg, i2cdev.System{})); err != nil || math.Abs(got["voltage"]+1) > 1e-3 {
		t.Errorf("%v: %v", got, err)
	}
}

func TestBridgeI2CSuites(t *testing.T) {
	b := plug(t)
	mcp := i2cdev.DefaultMCP23017Config()
	mcp.At, mcp.Pin = at(0x20), "A5"
	pca := i2cdev.DefaultPCA9685Config()
	pca.At, pca.Channel, pca.Initial, pca.Safe = at(0x40), 2, "off", "off"
	reg := func(chip, reg int) int { return b.ask(t, "reg %d %d", chip, reg)[0] }
	for name, tt := range map[string]struct {
		open  func() drivers.Device
		obey  func([]byte) (bool, error)
		level func() bool
		force func(bool)
	}{
		"mcp23017": {
			func() drivers.Device { return i2cdev.NewMCP23017("pump", mcp, i2cdev.System{}) },
			func(order []byte) (bool, error) { return i2cdev.RunMCP23017Command(i2cdev.System{}, order) },
			func() bool { return reg(0x20, 0)&32 == 0 && reg(0x20, 0x14)&32 != 0 },
			func(on bool) {
				b.ask(t, "poke %d 0 %d", 0x20, reg(0x20, 0)&^32)
				b.ask(t, "poke %d %d %d", 0x20, 0x14, reg(0x20, 0x14)&^32|map[bool]int{true: 32}[on])
			},
		},
		"pca9685": {
			func() drivers.Device { return i2cdev.NewPCA9685("lid", pca, i2cdev.System{}) },
			func(order []byte) (bool, error) { return i2cdev.RunPCA9685Command(i2cdev.System{}, order) },
			func() bool { return reg(0x40, 16)|reg(0x40, 17)<<8 == 410 },
			func(on bool) {
				b.ask(t, "poke %d 0 %d", 0x40, 0x81)
				b.ask(t, "poke %d %d %d", 0x40, 0xfe, 121)
				pulse := map[bool]int{true: 410, false: 205}[on]
				b.ask(t, "poke %d 16 %d", 0x40, pulse&0xff)
				b.ask(t, "poke %d 17 %d", 0x40, pulse>>8)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			acts := 0
			drivertest.Run(t, func(*testing.T) drivers.Device { return tt.open() },
				drivertest.Safe(func() error {
					if tt.level() {
						return errors.New("it is on")
					}
					return nil
				}),
				drivertest.Acts(func() int { acts = b.ask(t, "writes")[0]; return acts }),
				drivertest.Level(tt.level), drivertest.Force(tt.force), drivertest.RunWatchdogCommand(tt.obey),
			)
		})
	}
}

// The bridge disappears during a measurement. The driver returns an error, and measures again
// when the bridge is back.
func TestBridgeI2CUnplugged(t *testing.T) {
	b := plug(t)
	d := i2cdev.NewBMP280(env("climate"), i2cdev.BoschConfig{At: at(0x76)}, i2cdev.System{})
	if _, err := measured(t, d); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		for {
			if _, err := d.Read(t.Context()); err != nil {
				ended <- err
				return
			}
		}
	}()
	b.unplug()
	if err := <-ended; !strings.HasPrefix(err.Error(), "climate: ") {
		t.Error(err)
	} else {
		t.Log(err)
	}
	plug(t)
	eventually(t, "it measures again", func() error { _, err := measured(t, d); return err })
}

// A request in plain English reads a chip on the kernel's bus.
func TestBridgeAgentMeasures(t *testing.T) {
	plug(t)
	a := launch(t, `
  kitchen-climate:
    driver: i2c-sht3x
    area: kitchen
    bus: CP2112
    address: 0x44
`)
	output, err := a.request(t, "what is the temperature in the kitchen?")
	t.Logf("$ messkit ask \"what is the temperature in the kitchen?\" --wait\n%s", output)
	if err != nil || !strings.Contains(output, "temperature 21.5 °C") {
		t.Error(err)
	}
	a.end(t)
}
