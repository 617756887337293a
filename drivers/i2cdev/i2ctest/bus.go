package i2ctest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers/i2cdev"
)

// Chip is a simulated chip on a bus.
type Chip interface {
	Transfer(written []byte, n int) (read []byte, ok bool)
}

// Bus is a simulated bus that can vanish. It counts writes.
type Bus struct {
	mu     sync.Mutex
	Chips  map[int]Chip
	Gone   bool
	Writes int
	Open   int
}

var _ i2cdev.Buses = (*Bus)(nil)

// Connect opens the bus.
func (b *Bus) Connect(bus string) (i2cdev.Bus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Gone {
		return nil, fmt.Errorf("no I2C bus %q", bus)
	}
	b.Open++
	return &connected{b}, nil
}

// With calls f while no other goroutine uses the chips.
func (b *Bus) With(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

type connected struct{ bus *Bus }

func (c *connected) Name() string       { return "i2ctest" }
func (c *connected) SetName(string)     {}
func (c *connected) Connect() error     { return nil }
func (c *connected) DefaultI2cBus() int { return 1 }

func (c *connected) Finalize() error {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	c.bus.Open--
	return nil
}

func (c *connected) GetI2cConnection(address, _ int) (i2c.Connection, error) {
	return &connection{c.bus, address}, nil
}

// connection gives access to a chip like i2c-dev of the kernel.
type connection struct {
	bus     *Bus
	address int
}

var errNAK = errors.New("remote I/O error")

func (c *connection) transfer(n int, written ...byte) ([]byte, error) {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	chip := c.bus.Chips[c.address]
	if c.bus.Gone || chip == nil {
		return nil, errNAK
	}
	if len(written) > 1 {
		c.bus.Writes++
	}
	read, ok := chip.Transfer(slices.Clone(written), n)
	if !ok {
		return nil, errNAK
	}
	return read, nil
}

func (c *connection) write(b ...byte) error { _, err := c.transfer(0, b...); return err }

func (c *connection) Read(b []byte) (int, error) {
	read, err := c.transfer(len(b))
	return copy(b, read), err
}

func (c *connection) Write(b []byte) (int, error) { return len(b), c.write(b...) }
func (c *connection) Close() error                { return nil }

func (c *connection) ReadByte() (byte, error) {
	read, err := c.transfer(1)
	if err != nil {
		return 0, err
	}
	return read[0], nil
}

func (c *connection) ReadByteData(reg uint8) (uint8, error) {
	read, err := c.transfer(1, reg)
	if err != nil {
		return 0, err
	}
	return read[0], nil
}

func (c *connection) ReadWordData(reg uint8) (uint16, error) {
	read, err := c.transfer(2, reg)
	if err != nil {
		return 0, err
	}
	return uint16(read[0]) | uint16(read[1])<<8, nil
}

func (c *connection) ReadBlockData(reg uint8, b []byte) error {
	read, err := c.transfer(len(b), reg)
	copy(b, read)
	return err
}

func (c *connection) WriteByte(v byte) error           { return c.write(v) }
func (c *connection) WriteByteData(reg, v uint8) error { return c.write(reg, v) }
func (c *connection) WriteWordData(reg uint8, v uint16) error {
	return c.write(reg, byte(v), byte(v>>8))
}

func (c *connection) WriteBlockData(reg uint8, b []byte) error {
	return c.write(append([]byte{reg}, b...)...)
}
func (c *connection) WriteBytes(b []byte) error { return c.write(b...) }
