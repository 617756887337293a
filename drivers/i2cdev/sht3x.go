package i2cdev

import (
	"bytes"
	"context"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
)

// SHT3xConfig is the configuration of a SHT30, SHT31 or SHT35.
type SHT3xConfig struct {
	At
}

// DefaultSHT3xConfig returns the address of most boards.
func DefaultSHT3xConfig() SHT3xConfig { return SHT3xConfig{At{Address: 0x44}} }

// Validate returns all errors in the configuration.
func (c SHT3xConfig) Validate() error { return c.validate(0x44, 0x45) }

// NewSHT3x returns a sensor for temperature and humidity, for a valid configuration.
// Gobot's driver reads the chip and verifies the checksums. Its result below 0 °C is wrong
// (an unsigned difference), so this function computes the temperature itself.
func NewSHT3x(env drivers.Env, cfg SHT3xConfig, buses Buses) *Sensor {
	return newSensor(env, cfg.At, buses, func(_ context.Context, at At, b Bus) ([]drivers.Reading, error) {
		recording := &recordingBus{Bus: b}
		d := i2c.NewSHT3xDriver(recording, at.options())
		if err := d.Start(); err != nil {
			return nil, err
		}
		if _, _, err := d.Sample(); err != nil {
			return nil, err
		}
		if len(recording.last) != 6 {
			return nil, answerError("the chip has answered with %d bytes, not 6", len(recording.last))
		}
		word := func(i int) float64 { return float64(int(recording.last[i])<<8|int(recording.last[i+1])) / 65535 }
		t, err := reading("temperature", -45+175*word(0), "°C", -40, 125, 100) // datasheet, 4.13
		if err != nil {
			return nil, err
		}
		h, err := reading("humidity", 100*word(3), "%", 0, 100, 10)
		return []drivers.Reading{t, h}, err
	})
}

// recordingBus is a bus that stores the last read.
type recordingBus struct {
	Bus
	last []byte
}

// GetI2cConnection implements i2c.Connector.
func (l *recordingBus) GetI2cConnection(address, bus int) (i2c.Connection, error) {
	c, err := l.Bus.GetI2cConnection(address, bus)
	return &recordingConnection{c, l}, err
}

type recordingConnection struct {
	i2c.Connection
	by *recordingBus
}

func (h *recordingConnection) Read(b []byte) (int, error) {
	n, err := h.Connection.Read(b)
	h.by.last = bytes.Clone(b[:max(0, min(n, len(b)))])
	return n, err
}
