//go:build linux

package inside_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/internal/board"
)

// doctor returns the output of messkit doctor for devices, run with this user ID.
func doctor(t *testing.T, user uint32, devices string) string {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, "messkit.yaml")
	if err := errors.Join(os.WriteFile(config, []byte("devices:\n"+devices), 0o644), os.Chown(home, int(user), int(user)), os.Chmod(filepath.Dir(home), 0o755)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/messkit", "doctor", "--config", config)
	c.Env = append(os.Environ(), "HOME="+home)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := c.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		t.Errorf("the doctor finds nothing: %v", err)
	}
	t.Logf("%s", out)
	return string(out)
}

// wantDiagnosis checks the output line of each device.
func wantDiagnosis(t *testing.T, output, verdict string, want map[string]string) {
	t.Helper()
	for device, text := range want {
		found := false
		for line := range strings.Lines(output) {
			words := strings.Fields(line)
			found = found || len(words) > 1 && words[0] == verdict && words[1] == device && strings.Contains(line, text)
		}
		if !found {
			t.Errorf("%s: missing in the output: %s", device, text)
		}
	}
}

// For a wrong connection or configuration, messkit doctor names the place, the problem and the
// remedy.
func TestBridgeFaultsAreNamed(t *testing.T) {
	plug(t)
	place, err := board.Find(board.Kernel{}, board.Line{Chip: label, Line: "7"})
	if err != nil {
		t.Fatal(err)
	}
	held, err := board.Kernel{}.Request(place.Chip.Name, 7, board.Request{Label: "gpioset", Start: board.Off})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	n := busNumber(t)
	dir := fmt.Sprintf("/sys/bus/i2c/devices/i2c-%d/", n)
	if err := os.WriteFile(dir+"new_device", []byte("bmp280 0x76"), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.WriteFile(dir+"delete_device", []byte("0x76"), 0) }()
	output := doctor(t, 0, `
  relay: {driver: gpiorelay, chip: cp2112_gpio, line: "1"}
  contact: {driver: gpioinput, chip: cp2112_gpio, line: "2", bias: none}
  shutter: {driver: gpiocover, chip: cp2112_gpio, up: "3", down: "4", travel_time: 5s}
  climate: {driver: i2c-sht3x, bus: CP2112, address: 0x44}
  no-chip: {driver: gpiorelay, chip: gpiochip9, line: "1"}
  no-name: {driver: gpioinput, line: GPIO17}
  no-number: {driver: gpiorelay, chip: cp2112_gpio, line: "8"}
  in-use: {driver: gpiorelay, chip: cp2112_gpio, line: "7"}
  no-bus: {driver: i2c-bme280, bus: 99}
  no-adapter: {driver: i2c-bme280, bus: bcm2835}
  nobody: {driver: i2c-sht3x, bus: CP2112, address: 0x45}
  another-chip: {driver: i2c-bmp280, bus: CP2112, address: 0x77}
  the-kernels: {driver: i2c-bmp280, bus: CP2112, address: 0x76}
  no-wire: {driver: onewire}
`)
	wantDiagnosis(t, output, "ok", map[string]string{
		"relay":   "line 1 of " + place.Chip.Name + " exists and is free",
		"contact": "reads contact ",
		"shutter": "line 3 of " + place.Chip.Name + " exists and is free; and line 4 of " + place.Chip.Name + " exists and is free",
		"climate": "reads temperature 21.5",
	})
	wantDiagnosis(t, output, "BAD", map[string]string{
		"no-chip":      `line 1 of gpiochip9 is not there: the host has no such chip; its chips: ` + place.Chip.Name + ` "cp2112_gpio"`,
		"no-name":      `line GPIO17 is not there: no line has that name; write another name, or its number and chip: (` + place.Chip.Name + ` "cp2112_gpio")`,
		"no-number":    `line 8 of cp2112_gpio: ` + place.Chip.Name + ` has lines 0 to 7; write one of those`,
		"in-use":       `line 7 of ` + place.Chip.Name + ` is in use by "gpioset"; stop that program, or use another line`,
		"no-bus":       `no I2C bus 99 (/dev/i2c-99); enable I2C with sudo raspi-config nonint do_i2c 0 on a Pi`,
		"no-adapter":   `no I2C bus has the name "bcm2835"; the buses: `,
		"nobody":       fmt.Sprintf(`check its wiring and supply, and that i2cdetect -y %d shows it`, n),
		"another-chip": `is not a BMP280 (its id is 0x60), but a BME280: use the driver i2c-bme280`,
		"the-kernels":  fmt.Sprintf(`a kernel driver uses this chip (i2cdetect -y %d shows UU); remove its overlay`, n),
		"no-wire":      `this host has no 1-Wire bus; set dtoverlay=w1-gpio`,
	})
	wantDiagnosis(t, doctor(t, 1000, `
  lamp: {driver: gpiorelay, chip: cp2112_gpio, line: "1"}
  door: {driver: gpioinput, line: GPIO17}
  climate: {driver: i2c-bme280, bus: CP2112}
`), "BAD", map[string]string{
		"lamp":    "line 1 of cp2112_gpio: request failed: open /dev/" + place.Chip.Name + ": permission denied; add the user of messkit to the group",
		"door":    "line GPIO17: request failed: open /dev/" + place.Chip.Name + ": permission denied; add the user of messkit to the group",
		"climate": fmt.Sprintf("open /dev/i2c-%d: permission denied; add the user of messkit to the group of the bus (sudo usermod -aG i2c USER", n),
	})
}
