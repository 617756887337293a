package onewire_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/onewire"
)

// Scratchpads as the kernel shows them; the first comes from its documentation.
const (
	warm  = "72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n"
	fresh = "50 05 4b 46 7f ff 0c 10 1c : crc=1c YES\n50 05 4b 46 7f ff 0c 10 1c t=85000\n"
	zeros = "00 00 00 00 00 00 00 00 00 : crc=00 YES\n00 00 00 00 00 00 00 00 00 t=0\n"
	wrong = "72 01 4b 46 7f ff 0e 10 58 : crc=57 NO\n72 01 4b 46 7f ff 0e 10 57 t=23125\n"
	none  = "ff ff ff ff ff ff ff ff ff : crc=c9 NO\nff ff ff ff ff ff ff ff ff t=-62\n"
)

// folder creates files like those of the kernel.
func folder(t *testing.T, chips map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for id, text := range chips {
		if err := os.MkdirAll(filepath.Join(dir, id), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id, "w1_slave"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const id = "28-0000005a1b2c"

func TestSuite(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) drivers.Device {
		return onewire.New("tank", onewire.Config{}, folder(t, map[string]string{id: warm}), time.Now)
	})
}

func read(t *testing.T, cfg onewire.Config, dir string) (float64, error) {
	t.Helper()
	d := onewire.New("tank", cfg, dir, time.Now)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	list, err := d.Read(t.Context())
	if err != nil {
		return 0, err
	}
	if len(list) != 1 || list[0].Quantity != "temperature" || list[0].Unit != "°C" {
		t.Errorf("Read = %+v", list)
	}
	return list[0].Value, nil
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, memory string
		celsius      float64
		err          string
	}{
		{"warm", warm, 23.125, ""},
		{"below zero", "5e ff 4b 46 7f ff 02 10 b6 : crc=b6 YES\n", -10.125, ""},
		{"85 °C that was measured", "50 05 4b 46 7f ff 10 10 bd : crc=bd YES\n", 85, ""},
		{"before the first measurement", fresh, 0, "tank: " + id + ": the chip reports 85 °C, its value before the first measurement; check its supply"},
		{"zeros", zeros, 0, "tank: " + id + ": the chip answers with zeros; check for a short circuit of data to ground, and for the resistor"},
		{"wrong checksum", wrong, 0, "tank: " + id + ": wrong checksum; shorten the wire, or use a resistor below 4.7 kΩ"},
		{"no answer", none, 0, "tank: " + id + ": wrong checksum; shorten the wire, or use a resistor below 4.7 kΩ"},
		{"nothing, as newer kernels say of no answer", "", 0, "tank: " + id + ": the kernel has no answer of the chip, or a wrong checksum; check the contact and the length of its wire, and the 4.7 kΩ between data and 3.3 V"},
		{"something else", "busy\n", 0, "tank: " + id + `: the kernel reports "busy", which is not a measurement`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, onewire.Config{ID: id}, folder(t, map[string]string{id: tt.memory}))
			if text := errText(err); got != tt.celsius || text != tt.err {
				t.Errorf("Read = %v, %s; want %v, %s", got, text, tt.celsius, tt.err)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFind(t *testing.T) {
	two := folder(t, map[string]string{id: warm, "28-000000000001": warm, "w1_bus_master1": ""})
	for _, tt := range []struct {
		name, id, dir, want string
	}{
		{"one of two", id, two, ""},
		{"which of two", "", two, "tank: the bus has 28-000000000001, " + id + "; write id: with one"},
		{"another", "28-000000000002", two, "tank: the bus does not have 28-000000000002, only 28-000000000001, "},
		{"none", "", folder(t, map[string]string{"w1_bus_master1": ""}), "tank: the bus has no DS18B20; "},
		{"noise", "", folder(t, map[string]string{"w1_bus_master1": "", "00-400000000000": ""}), "tank: the bus has 00-400000000000, which is noise, not a chip; connect a resistor"},
		{"no bus", "", "/nonexistent", "tank: this host has no 1-Wire bus; set dtoverlay=w1-gpio"},
		{"no bus for one", id, "/nonexistent", "tank: this host has no 1-Wire bus; set dtoverlay=w1-gpio"},
		{"a folder without a bus", id, t.TempDir(), "tank: this host has no 1-Wire bus; set dtoverlay=w1-gpio"},
	} {
		if _, err := read(t, onewire.Config{ID: tt.id}, tt.dir); !strings.HasPrefix(errText(err), tt.want) || tt.want == "" && err != nil {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// The wire has a bad contact, and a good one later.
func TestComesBack(t *testing.T) {
	dir := folder(t, map[string]string{id: warm})
	d := onewire.New("tank", onewire.Config{ID: id}, dir, time.Now)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(t.TempDir(), "away")
	for _, move := range [][2]string{{filepath.Join(dir, id), away}, {away, filepath.Join(dir, id)}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
		_, err := d.Read(t.Context())
		if gone := move[1] == away; (err != nil) != gone {
			t.Errorf("gone=%t: %v", gone, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for id, ok := range map[string]bool{"": true, id: true, "28-XYZ": false, "../28-0000005a1b2c": false, "10-0000005a1b2c": false} {
		if err := (onewire.Config{ID: id}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}
