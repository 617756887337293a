package onewire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// connection gives Gobot's driver access to the chip.
type connection struct{ bus *bus }

var errUnused = errors.New("unsupported operation")

func (c *connection) ID() string                     { return c.bus.id }
func (c *connection) ReadData(string, []byte) error  { return errUnused }
func (c *connection) WriteData(string, []byte) error { return errUnused }
func (c *connection) WriteInteger(string, int) error { return errUnused }
func (c *connection) Close() error                   { return nil }

// ReadInteger returns the temperature in thousandths of a °C, which is all that Gobot's
// driver requests with its default settings.
func (c *connection) ReadInteger(command string) (int, error) {
	if command != "temperature" {
		return 0, errUnused
	}
	name, err := c.bus.find()
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(name, "w1_slave"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("%s has vanished; check its wire", filepath.Base(name))
		}
		return 0, fmt.Errorf("%s does not answer: %w; check its wire", filepath.Base(name), err)
	}
	milli, err := parse(string(text))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return milli, nil
}

// find returns the folder of the chip.
func (b *bus) find() (string, error) {
	all, _ := filepath.Glob(filepath.Join(b.folder, "28-*"))
	masters, _ := filepath.Glob(filepath.Join(b.folder, "w1_bus_master*")) // a kernel with built-in 1-Wire has the folder without a bus
	noise, _ := filepath.Glob(filepath.Join(b.folder, "00-*"))
	if len(all)+len(masters) == 0 {
		return "", errors.New("this host has no 1-Wire bus; set dtoverlay=w1-gpio in /boot/firmware/config.txt of a Pi, and restart")
	}
	if len(all) == 0 && len(noise) > 0 { // no chip has this family: a line without a pull-up resistor reads as random bits
		return "", fmt.Errorf("the bus has %s, which is noise, not a chip; connect a resistor of 4.7 kΩ from data to 3.3 V", listed(noise))
	}
	if b.id != "" {
		name := filepath.Join(b.folder, b.id)
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("the bus does not have %s, only %s; check its wires, and the resistor of 4.7 kΩ from data to 3.3 V", b.id, listed(all))
		}
		return name, nil
	}
	if len(all) != 1 {
		return "", fmt.Errorf("the bus has %s; write id: with one, or connect it, with 4.7 kΩ from data to 3.3 V", listed(all))
	}
	return all[0], nil
}

func listed(folders []string) string {
	if len(folders) == 0 {
		return "no DS18B20"
	}
	names := make([]string, len(folders))
	for i, f := range folders {
		names[i] = filepath.Base(f)
	}
	return strings.Join(names, ", ")
}

// errPowerOnValue reports the value of the chip before its first measurement.
var errPowerOnValue = errors.New("the chip reports 85 °C, its value before the first measurement; check its supply")

// parse reads what the kernel has of a chip's memory:
//
//	72 01 4b 46 7f ff 0e 10 57 : crc=57 YES
//	72 01 4b 46 7f ff 0e 10 57 t=23125
//
// and computes the temperature, in thousandths of a °C, from the nine bytes
// (datasheet, figure 8 and table 1).
func parse(text string) (milli int, err error) {
	if strings.TrimSpace(text) == "" { // Linux 6.1 returns an empty text after three attempts
		return 0, errors.New("the kernel has no answer of the chip, or a wrong checksum; check the contact and the length of its wire, and the 4.7 kΩ between data and 3.3 V")
	}
	first, _, _ := strings.Cut(text, "\n")
	var pad [9]byte
	for i, word := range strings.Fields(first) {
		if i == len(pad) {
			break
		}
		if _, err := fmt.Sscanf(word, "%02x", &pad[i]); err != nil || len(word) != 2 {
			return 0, fmt.Errorf("the kernel reports %.60q, which is not a measurement", first)
		}
	}
	if strings.Count(first, " ") < len(pad) {
		return 0, fmt.Errorf("the kernel reports %.60q, which is not a measurement", first)
	}
	raw := int(int16(uint16(pad[0]) | uint16(pad[1])<<8))
	switch {
	case checksum(pad[:8]) != pad[8] || !strings.HasSuffix(strings.TrimSpace(first), "YES"):
		return 0, errors.New("wrong checksum; shorten the wire, or use a resistor below 4.7 kΩ")
	case pad[4]&0x1f != 0x1f: // these bits are constant (table 2); zeros have a right checksum
		return 0, errors.New("the chip answers with zeros; check for a short circuit of data to ground, and for the resistor")
	case raw == 85*16 && pad[6] != 0x10: // it is 16 after a measurement of 85 °C
		return 0, errPowerOnValue
	case raw < -55*16 || raw > 125*16:
		return 0, fmt.Errorf("the chip reports %.1f °C, outside of its range -55 to 125", float64(raw)/16)
	}
	return raw * 1000 / 16, nil
}

// checksum is a CRC-8 with x^8 + x^5 + x^4 + 1, lowest bit first (datasheet, figure 9).
func checksum(data []byte) byte {
	var c byte
	for _, b := range data {
		c ^= b
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0x8c
			} else {
				c >>= 1
			}
		}
	}
	return c
}
