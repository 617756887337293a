// Package i2ctest simulates chips on an I2C bus from their datasheets, and a bus in memory.
// The virtual machines of make hil use the same chips on a bus of the kernel.
package i2ctest

import (
	"encoding/binary"
	"fmt"
)

// Registers is a chip with 256 registers of one byte. The first written byte selects the
// register, and each further byte goes to the next: BMP280, BME280, PCA9685, MCP23017.
type Registers struct {
	Values [256]byte
	at     byte
}

// Transfer executes one message: it writes bytes, then reads n bytes.
func (r *Registers) Transfer(written []byte, n int) ([]byte, bool) {
	if len(written) > 0 {
		r.at = written[0]
		for _, v := range written[1:] {
			r.Values[r.at] = v
			r.at++
		}
	}
	read := make([]byte, n)
	for i := range read {
		read[i] = r.Values[r.at]
		r.at++
	}
	return read, true
}

// Register returns one register, for a test.
func (r *Registers) Register(n byte) byte { return r.Values[n] }

// SetRegister sets one register.
func (r *Registers) SetRegister(n, value byte) { r.Values[n] = value }

// SHT3x is a sensor for temperature and humidity (Sensirion SHT3x, single shot). Hear
// accepts "CELSIUS PERCENT BAD": with BAD 1 its answers have a wrong checksum.
type SHT3x struct {
	Celsius, Percent float64
	Bad              bool
}

// Hear executes a command of a test.
func (s *SHT3x) Hear(words string) error {
	bad := 0
	_, err := fmt.Sscan(words, &s.Celsius, &s.Percent, &bad)
	s.Bad = bad == 1
	return err
}

// Transfer executes one message (datasheet, 4.12 and 4.13).
func (s *SHT3x) Transfer(_ []byte, n int) ([]byte, bool) {
	if n == 0 {
		return nil, true
	}
	t, h := uint16((s.Celsius+45)/175*65535+0.5), uint16(s.Percent/100*65535+0.5)
	read := []byte{byte(t >> 8), byte(t), 0, byte(h >> 8), byte(h), 0}
	read[2], read[5] = checksum(read[:2]), checksum(read[3:5])
	if s.Bad {
		read[2] ^= 1
	}
	return read, true
}

// checksum is a CRC-8 with polynomial 0x31 and start value 0xff.
func checksum(data []byte) byte {
	c := byte(0xff)
	for _, b := range data {
		c ^= b
		for range 8 {
			if c&0x80 != 0 {
				c = c<<1 ^ 0x31
			} else {
				c <<= 1
			}
		}
	}
	return c
}

// ADS1115 is a converter with four inputs (TI ADS1115). Hear accepts "INPUT RAW": the
// conversion of that input against ground.
type ADS1115 struct {
	Raw    [4]int16
	config uint16
	at     byte
}

// Hear executes a command of a test.
func (a *ADS1115) Hear(words string) error {
	var n int
	var raw int16
	if _, err := fmt.Sscan(words, &n, &raw); err != nil {
		return err
	}
	if n < 0 || n > 3 {
		return fmt.Errorf("no input %d", n)
	}
	a.Raw[n] = raw
	return nil
}

// Transfer executes one message (datasheet, 9.6): register 0 is the conversion, 1 the
// configuration, whose bits 14 to 12 select the input.
func (a *ADS1115) Transfer(written []byte, n int) ([]byte, bool) {
	if len(written) > 0 {
		a.at = written[0]
	}
	if len(written) == 3 && a.at == 1 {
		a.config = binary.BigEndian.Uint16(written[1:])
	}
	if n == 0 {
		return nil, true
	}
	value := a.config | 0x8000 // no conversion is under way
	if a.at == 0 {
		value = uint16(a.Raw[a.config>>12&3])
	}
	return []byte{byte(value >> 8), byte(value)}, true
}

// Expander is an MCP23017 whose output pins read as their latch. It calls Told, if not nil,
// for each written register.
type Expander struct {
	*Registers
	Written func(register byte)
}

// Transfer executes one message (datasheet, 3.5).
func (e *Expander) Transfer(written []byte, n int) ([]byte, bool) {
	if len(written) > 1 && e.Written != nil {
		e.Written(written[0])
	}
	for bank := range 2 {
		const direction, levels, latch = 0x00, 0x12, 0x14
		inputs := e.Values[direction+bank]
		e.Values[levels+bank] = e.Values[levels+bank]&inputs | e.Values[latch+bank]&^inputs
	}
	return e.Registers.Transfer(written, n)
}
