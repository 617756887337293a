//go:build linux

package inside_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/i2cdev/i2ctest"
	"github.com/messkit/messkit/drivers/onewire"
)

const wireAddress = 0x18

// wired returns the thermometers on the bridge's 1-Wire bus.
func wired() *i2ctest.DS2482 {
	return &i2ctest.DS2482{Therms: []*i2ctest.DS18B20{{Serial: 0x5a1b2c, Celsius: 21.125}, {Serial: 0x5a1b2d, Celsius: -10.125}}}
}

// wire makes a 1-Wire bus with the kernel's driver of the DS2482, and waits until the kernel has
// found the thermometers.
func wire(t *testing.T) *remote {
	t.Helper()
	b := plug(t)
	dir := fmt.Sprintf("/sys/bus/i2c/devices/i2c-%d/", busNumber(t))
	if err := os.WriteFile(dir+"new_device", fmt.Appendf(nil, "ds2482 %#x", wireAddress), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(dir+"delete_device", fmt.Appendf(nil, "%#x", wireAddress), 0) })
	for _, chip := range wired().Therms {
		eventually(t, "the kernel has found "+chip.Name(), func() error {
			_, err := os.Stat(filepath.Join(onewire.Devices, chip.Name(), "w1_slave"))
			return err
		})
	}
	return b
}

func thermometer(id string) drivers.Device {
	return onewire.New("tank", onewire.Config{ID: id}, onewire.Devices, time.Now)
}

// On the kernel's own bus, messkit's driver and the kernel's driver measure the same. A fault on
// the wire gives an error and no temperature.
func TestBridgeOneWire(t *testing.T) {
	b := wire(t)
	chips := wired().Therms
	for _, chip := range chips {
		ours, err := measured(t, thermometer(chip.Name()))
		if err != nil || ours["temperature"] != chip.Celsius {
			t.Errorf("%s: %v, %v; want %g", chip.Name(), ours, err, chip.Celsius)
		}
		text, err := os.ReadFile(filepath.Join(onewire.Devices, chip.Name(), "temperature"))
		if err != nil {
			t.Fatal(err)
		}
		milli, err := strconv.Atoi(strings.TrimSpace(string(text)))
		t.Logf("%s: ours %g, the kernel's %g", chip.Name(), ours["temperature"], float64(milli)/1000)
		if off := ours["temperature"] - float64(milli)/1000; err != nil || off > 0.001 || off < -0.001 {
			t.Errorf("temperature of the kernel is %q, %v", text, err)
		}
	}
	if found := onewire.Find(t.Context()); len(found) != len(chips) || found[0].Config["id"] != chips[0].Name() {
		t.Errorf("found %+v", found)
	}
	if _, err := measured(t, thermometer("")); err == nil || !strings.Contains(err.Error(), "the bus has "+chips[0].Name()+", "+chips[1].Name()+"; write id: with one") {
		t.Errorf("which of them: %v", err)
	}
	set := func(celsius float64, bad int) {
		b.ask(t, "say %d %d %g %d", wireAddress, chips[0].Serial, celsius, bad)
	}
	for _, bad := range []int{1, 2} { // a wrong checksum, and no answer
		set(20, bad)
		if v, err := measured(t, thermometer(chips[0].Name())); err == nil || !strings.HasPrefix(err.Error(), "tank: "+chips[0].Name()) {
			t.Errorf("measured %v, %v, want an error", v, err)
		} else {
			t.Log(err)
		}
	}
	set(-0.5, 0)
	if v, err := measured(t, thermometer(chips[0].Name())); err != nil || v["temperature"] != -0.5 {
		t.Errorf("back on the wire it measures %v, %v", v, err)
	}
}

func TestBridgeOneWireSuite(t *testing.T) {
	wire(t)
	drivertest.Run(t, func(*testing.T) drivers.Device { return thermometer(wired().Therms[1].Name()) })
}

// A request in plain English reads a thermometer on the kernel's 1-Wire bus.
func TestBridgeAgentMeasuresOnOneWire(t *testing.T) {
	wire(t)
	a := launch(t, `
  tank:
    driver: onewire
    label: water tank
    id: `+wired().Therms[0].Name()+"\n")
	output, err := a.request(t, "how warm is the water tank?")
	t.Logf("$ messkit ask \"how warm is the water tank?\" --wait\n%s", output)
	if err != nil || !strings.Contains(output, "temperature 21.12 °C") {
		t.Error(err)
	}
	a.end(t)
}
