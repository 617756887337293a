package cp2112

import "fmt"

// Registers is a chip of 256 registers of one byte. The first byte that is
// written says which one is meant, and each further one the next: BMP280, BME280,
// PCA9685, MCP23017.
type Registers struct {
	Values [256]byte
	at     byte
}

// Transfer implements Chip.
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

// SHT3x is a sensor of temperature and humidity (Sensirion SHT3x, single shot).
// It hears "CELSIUS PERCENT BAD": BAD 1 has it answer with a wrong checksum.
type SHT3x struct {
	Celsius, Percent float64
	Bad              bool
}

// Hear implements Listener.
func (s *SHT3x) Hear(words string) error {
	bad := 0
	_, err := fmt.Sscan(words, &s.Celsius, &s.Percent, &bad)
	s.Bad = bad == 1
	return err
}

// Transfer implements Chip (datasheet, 4.12 and 4.13).
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

// checksum is CRC-8 with polynomial 0x31 and 0xff at its start.
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

// ADS1115 is a converter with four inputs (TI ADS1115). It hears "INPUT RAW":
// what the conversion of that input against ground is.
type ADS1115 struct {
	Raw    [4]int16
	config uint16
	at     byte
}

// Hear implements Listener.
func (a *ADS1115) Hear(words string) error {
	var n int
	var raw int16
	if _, err := fmt.Sscan(words, &n, &raw); err != nil {
		return err
	}
	if n < 0 || n > 3 {
		return fmt.Errorf("there is no input %d", n)
	}
	a.Raw[n] = raw
	return nil
}

// Transfer implements Chip (datasheet, 9.6): register 0 is the conversion, 1 the
// configuration, whose bits 14 to 12 are the input.
func (a *ADS1115) Transfer(written []byte, n int) ([]byte, bool) {
	if len(written) > 0 {
		a.at = written[0]
	}
	if len(written) == 3 && a.at == 1 {
		a.config = big.Uint16(written[1:])
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
