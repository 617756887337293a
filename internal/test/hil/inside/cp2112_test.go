//go:build linux

package inside_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
)

// Chip is a simulated chip on the bus.
type Chip interface {
	// Transfer writes the bytes of one message and returns the n bytes of the following read. ok
	// is false if the chip does not acknowledge.
	Transfer(written []byte, n int) (read []byte, ok bool)
}

// Bridge simulates a Silicon Labs CP2112, a USB bridge to I2C with eight GPIO lines, through the
// kernel's /dev/uhid. The kernel's own driver (hid-cp2112) then provides a real I2C bus and a real
// GPIO chip. The reports are those of the interface document (AN495), the events those of
// linux/uhid.h. A bridge needs its own process: its removal blocks until every process has closed
// the bus.
type Bridge struct {
	uhid *os.File

	mu     sync.Mutex
	chips  map[byte]Chip // by their 7-bit address
	output byte          // lines that are outputs
	level  byte
	writes int       // number of times that the kernel set levels
	drove  [256]bool // each combination of output levels so far, as bits
	sent   int       // number of messages that write more than a register's number
	rest   []byte    // of a transfer, not read yet
	status [7]byte
}

// Events of uhid.
const (
	uhidOutput    = 6
	uhidGetReport = 9
	uhidGetAnswer = 10
	uhidCreate2   = 11
	uhidInput2    = 12
	uhidSetReport = 13
	uhidSetAnswer = 14
)

// Reports of the CP2112 (AN495).
const (
	reportDirection = 0x02
	reportLevels    = 0x03
	reportSetLevels = 0x04
	reportVersion   = 0x05
	reportSMBus     = 0x06
	reportRead      = 0x10
	reportWriteRead = 0x11
	reportForceRead = 0x12
	reportResponse  = 0x13
	reportWrite     = 0x14
	reportStatus    = 0x15
	reportStatusIs  = 0x16
	reportLock      = 0x20
)

var little, big = binary.LittleEndian, binary.BigEndian

// descriptor returns the report descriptor, with the IDs and lengths of the reports.
func descriptor() []byte {
	const feature, output, input = 0xb1, 0x91, 0x81
	d := []byte{0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08}
	for _, r := range [][3]byte{
		{reportDirection, 4, feature},
		{reportLevels, 1, feature},
		{reportSetLevels, 2, feature},
		{reportVersion, 2, feature},
		{reportSMBus, 13, feature},
		{reportLock, 1, feature},
		{0x21, 9, feature}, // USB settings, and three names
		{0x22, 62, feature},
		{0x23, 62, feature},
		{0x24, 62, feature},
		{reportRead, 3, output},
		{reportWriteRead, 63, output},
		{reportForceRead, 2, output},
		{reportWrite, 63, output},
		{reportStatus, 1, output},
		{0x17, 1, output}, // cancel
		{reportResponse, 63, input},
		{reportStatusIs, 6, input},
	} {
		d = append(d, 0x85, r[0], 0x95, r[1], 0x09, 0x01, r[2], 0x02)
	}
	return append(d, 0xc0)
}

// Plug connects a bridge with chips on its bus.
func Plug(chips map[byte]Chip) (*Bridge, error) {
	f, err := os.OpenFile("/dev/uhid", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	const names = 4 + 128 + 64 + 64 // type, name, where, serial number
	rd := descriptor()
	e := make([]byte, names+20+4096)
	little.PutUint32(e, uhidCreate2)
	copy(e[4:], "messkit CP2112")
	little.PutUint16(e[names:], uint16(len(rd)))
	little.PutUint16(e[names+2:], 3) // USB
	little.PutUint32(e[names+4:], 0x10c4)
	little.PutUint32(e[names+8:], 0xea90)
	copy(e[names+20:], rd)
	if _, err := f.Write(e); err != nil {
		return nil, fmt.Errorf("uhid: %w", err)
	}
	return &Bridge{uhid: f, chips: chips}, nil
}

// Run answers the kernel until an error or until the file is closed.
func (b *Bridge) Run() error {
	e := make([]byte, 8192)
	for {
		n, err := b.uhid.Read(e)
		if err != nil {
			return err
		}
		if n >= 4 {
			b.event(e[:n])
		}
	}
}

// event handles one event.
func (b *Bridge) event(e []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch little.Uint32(e) {
	case uhidOutput:
		if size := int(little.Uint16(e[4+4096:])); size > 0 {
			b.report(e[4 : 4+size])
		}
	case uhidGetReport:
		report := b.feature(e[8])
		a := make([]byte, 12, 12+len(report))
		little.PutUint32(a, uhidGetAnswer)
		copy(a[4:8], e[4:8])
		little.PutUint16(a[10:], uint16(len(report)))
		b.send(append(a, report...))
	case uhidSetReport:
		b.set(e[12 : 12+int(little.Uint16(e[10:]))])
		a := make([]byte, 10)
		little.PutUint32(a, uhidSetAnswer)
		copy(a[4:8], e[4:8])
		b.send(a)
	}
}

// send sends an event to the kernel. It ignores errors: the kernel then sees a bridge that does
// not answer.
func (b *Bridge) send(event []byte) { _, _ = b.uhid.Write(event) }

// feature returns a feature report that the kernel requests.
func (b *Bridge) feature(id byte) []byte {
	switch id {
	case reportDirection:
		return []byte{id, b.output, 0xff, 0, 0} // all push-pull
	case reportLevels:
		return []byte{id, b.level}
	case reportVersion:
		return []byte{id, 0x0c, 2}
	case reportSMBus:
		return []byte{id, 0, 1, 0x86, 0xa0, 2, 0, 0, 0, 0, 0, 0, 0, 0} // 100 kHz
	case reportLock:
		return []byte{id, 0}
	}
	return append([]byte{id}, make([]byte, 62)...)
}

// set handles a feature report that the kernel sets.
func (b *Bridge) set(report []byte) {
	switch {
	case len(report) >= 2 && report[0] == reportDirection:
		b.output = report[1]
		b.drove[b.output&b.level] = true
	case len(report) >= 3 && report[0] == reportSetLevels:
		b.level = b.level&^report[2] | report[1]&report[2]
		b.writes++
		b.drove[b.output&b.level] = true
	}
}

// report handles a report with a command.
func (b *Bridge) report(p []byte) {
	switch p[0] {
	case reportRead:
		b.transfer(p[1], nil, int(big.Uint16(p[2:])))
	case reportWriteRead:
		b.transfer(p[1], p[5:5+int(p[4])], int(big.Uint16(p[2:])))
	case reportWrite:
		b.transfer(p[1], p[3:3+int(p[2])], 0)
	case reportStatus:
		b.input(b.status[:])
	case reportForceRead:
		n := min(61, len(b.rest))
		b.input(append([]byte{reportResponse, 2, byte(n)}, b.rest[:n]...))
		b.rest = b.rest[n:]
	}
}

// transfer does a transfer with the chip at an 8-bit address.
func (b *Bridge) transfer(address byte, written []byte, n int) {
	b.rest = nil
	b.status = [7]byte{reportStatusIs, 3} // status of a missing acknowledgement
	chip := b.chips[address>>1]
	if chip == nil {
		return
	}
	if len(written) > 1 {
		b.sent++
	}
	read, ok := chip.Transfer(append([]byte(nil), written...), n)
	if !ok {
		return
	}
	b.rest = append(read, make([]byte, max(0, n-len(read)))...)[:n]
	moved := len(written)
	if n > 0 {
		moved = n
	}
	b.status = [7]byte{reportStatusIs, 2, 5, 0, 0, byte(moved >> 8), byte(moved)}
}

// input sends a report to the kernel.
func (b *Bridge) input(report []byte) {
	e := make([]byte, 6, 6+len(report))
	little.PutUint32(e, uhidInput2)
	little.PutUint16(e[4:], uint16(len(report)))
	b.send(append(e, report...))
}
