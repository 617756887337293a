package i2ctest

import (
	"encoding/binary"
	"fmt"
)

// DS2482 is a bridge to a 1-Wire bus (Maxim DS2482-100), for the kernel's own drivers. Hear
// accepts "SERIAL CELSIUS BAD" for the chip with that serial number: with BAD 1 its answers
// have a wrong checksum, with BAD 2 it does not answer.
type DS2482 struct {
	Therms []*DS18B20

	status, data, config byte
	pointer              byte
}

// Commands, register codes and status bits (datasheet, tables 1 and 2, and "Device
// registers").
const (
	cmdReset   = 0xf0
	cmdPointer = 0xe1
	cmdConfig  = 0xd2
	cmd1WReset = 0xb4
	cmdBit     = 0x87
	cmdWrite   = 0xa5
	cmdRead    = 0x96
	cmdTriplet = 0x78

	codeStatus = 0xf0
	codeData   = 0xe1
	codeConfig = 0xc3

	presence    = 0x02
	level       = 0x08
	wasReset    = 0x10
	singleBit   = 0x20
	tripletBit  = 0x40
	direction   = 0x80
	resetLevels = level | wasReset
)

// Hear executes a command of a test.
func (d *DS2482) Hear(words string) error {
	var serial uint64
	var celsius float64
	var bad int
	if _, err := fmt.Sscan(words, &serial, &celsius, &bad); err != nil {
		return err
	}
	for _, t := range d.Therms {
		if t.Serial == serial {
			t.Celsius, t.Bad, t.Gone = celsius, bad == 1, bad == 2
			return nil
		}
	}
	return fmt.Errorf("no chip %d", serial)
}

// Transfer executes one message. It executes 1-Wire commands at once, so the bridge is
// never busy.
func (d *DS2482) Transfer(written []byte, n int) ([]byte, bool) {
	if len(written) > 0 && !d.command(written) {
		return nil, false
	}
	read := make([]byte, n)
	for i := range read {
		switch d.pointer {
		case codeData:
			read[i] = d.data
		case codeConfig:
			read[i] = d.config
		default:
			read[i] = d.status
		}
	}
	return read, true
}

func (d *DS2482) command(w []byte) bool {
	argument := byte(0)
	if len(w) > 1 {
		argument = w[1]
	}
	d.pointer = codeStatus
	switch w[0] {
	case cmdReset:
		d.status, d.config = resetLevels, 0
	case cmdPointer:
		d.pointer = argument
	case cmdConfig:
		d.config, d.status, d.pointer = argument&0x0f, d.status&^wasReset, codeConfig
	case cmd1WReset:
		d.status = d.status&^presence | level
		for _, t := range d.Therms {
			if t.reset(); !t.Gone {
				d.status |= presence
			}
		}
	case cmdBit:
		d.flag(singleBit, d.slot(argument&0x80 != 0))
	case cmdWrite:
		d.byte(argument)
	case cmdRead:
		d.data = d.byte(0xff)
	case cmdTriplet:
		first, second := d.slot(true), d.slot(true)
		way := argument&0x80 != 0 // direction if chips of both exist
		if first != second {
			way = first
		}
		d.slot(way)
		d.flag(singleBit, first)
		d.flag(tripletBit, second)
		d.flag(direction, way)
	default:
		return false // command of the DS2482-800, which has eight buses
	}
	return true
}

func (d *DS2482) flag(bit byte, on bool) {
	if d.status &^= bit; on {
		d.status |= bit
	}
}

// byte writes a byte to the bus, lowest bit first, and reads the bus.
func (d *DS2482) byte(out byte) (in byte) {
	for i := range 8 {
		if d.slot(out>>i&1 == 1) {
			in |= 1 << i
		}
	}
	return in
}

// slot executes one time slot: the bus is high unless a chip pulls it low.
func (d *DS2482) slot(bit bool) bool {
	for _, t := range d.Therms {
		if !t.Gone && !t.slot(bit) {
			bit = false
		}
	}
	return bit
}

// DS18B20 is a thermometer on a 1-Wire bus (Maxim DS18B20) with its own supply.
type DS18B20 struct {
	Serial  uint64 // 48 bits
	Celsius float64
	Bad     bool // wrong checksum
	Gone    bool // absent from the bus

	hears   func(bit bool) // receives the next written bit
	says    []bool         // bits for the next slots
	in      uint64         // bits of the present write
	count   int
	current int16 // last measurement
	asked   bool  // a measurement has taken place
}

// Name returns the name of the chip in the kernel.
func (t *DS18B20) Name() string { return fmt.Sprintf("28-%012x", t.Serial) }

// rom returns the family, the serial number and their checksum (datasheet, figure 6).
func (t *DS18B20) rom() uint64 {
	id := t.Serial<<8 | 0x28
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], id)
	return id | uint64(wireChecksum(b[:7]))<<56
}

// memory returns the scratchpad (datasheet, figure 8), with its checksum.
func (t *DS18B20) memory() []byte {
	value := t.current
	if !t.asked {
		value = 85 * 16 // value after power-on
	}
	m := []byte{byte(value), byte(value >> 8), 0x4b, 0x46, 0x7f, 0xff, 0x0c, 0x10, 0}
	m[8] = wireChecksum(m[:8])
	if t.Bad {
		m[8] ^= 1
	}
	return m
}

// wireChecksum is a CRC-8 with the polynomial x⁸ + x⁵ + x⁴ + 1, lowest bit first.
func wireChecksum(data []byte) (c byte) {
	for _, b := range data {
		for i := range 8 {
			mix := (c ^ b>>i) & 1
			if c >>= 1; mix == 1 {
				c ^= 0x8c
			}
		}
	}
	return c
}

func (t *DS18B20) reset() {
	t.says = nil
	t.collect(8, t.romCommand)
}

// collect calls f with the next n written bits.
func (t *DS18B20) collect(n int, f func(word uint64)) {
	t.in, t.count = 0, 0
	t.hears = func(bit bool) {
		if bit {
			t.in |= 1 << t.count
		}
		if t.count++; t.count == n {
			t.hears = nil
			f(t.in)
		}
	}
}

// slot executes one time slot of this chip.
func (t *DS18B20) slot(bit bool) bool {
	if len(t.says) > 0 {
		sent := t.says[0]
		t.says = t.says[1:]
		return sent
	}
	if t.hears != nil {
		t.hears(bit)
	}
	return true
}

func (t *DS18B20) say(data ...byte) {
	for _, b := range data {
		for i := range 8 {
			t.says = append(t.says, b>>i&1 == 1)
		}
	}
}

// romCommand executes a command that selects a chip.
func (t *DS18B20) romCommand(word uint64) {
	switch word {
	case 0xf0:
		t.search(0)
	case 0x33:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], t.rom())
		t.say(b[:]...)
	case 0x55:
		t.collect(64, func(rom uint64) {
			if rom == t.rom() {
				t.collect(8, t.function)
			}
		})
	case 0xcc:
		t.collect(8, t.function)
	}
}

// search sends bit n of the number and its complement, and continues if the master selects
// this bit.
func (t *DS18B20) search(n int) {
	if n == 64 {
		t.collect(8, t.function)
		return
	}
	bit := t.rom()>>n&1 == 1
	t.says = []bool{bit, !bit}
	t.hears = func(way bool) {
		t.hears = nil
		if way == bit {
			t.search(n + 1)
		}
	}
}

// function executes a function command.
func (t *DS18B20) function(word uint64) {
	switch word {
	case 0x44: // the measurement is complete at once
		t.current, t.asked = int16(t.Celsius*16), true
	case 0xbe:
		t.say(t.memory()...)
	case 0x4e: // alarms and resolution, which do not change
		t.collect(24, func(uint64) {})
	}
}
