package gobotdevice_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gobot.io/x/gobot/v2/drivers/gpio"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/gobotdevice"
)

// board is an adaptor with one line.
type board struct {
	drivers.Connection
	mu     sync.Mutex
	level  byte
	writes int
	broken error
}

func (b *board) Connect() error { return b.broken }

func (b *board) DigitalWrite(_ string, level byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level, b.writes = level, b.writes+1
	return nil
}

func (b *board) is() (level byte, writes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.level, b.writes
}

func TestSwitchConformance(t *testing.T) {
	var last *board
	drivertest.Run(t, func(*testing.T) drivers.Device {
		last = &board{level: 1}
		return gobotdevice.NewSwitch("fan", last, gpio.NewRelayDriver(last, "1"))
	},
		drivertest.Safe(func() error {
			if level, _ := last.is(); level != 0 {
				return errors.New("the line is on")
			}
			return nil
		}),
		drivertest.Level(func() bool { level, _ := last.is(); return level == 1 }),
		drivertest.Acts(func() int { _, writes := last.is(); return writes }),
	)
}

func TestSensorConformance(t *testing.T) {
	drivertest.Run(t, func(*testing.T) drivers.Device { return sensor(nil) })
}

func sensor(err error) drivers.Device {
	b := &board{}
	return gobotdevice.NewSensor("soil", b, gpio.NewRelayDriver(b, "1"), func() ([]drivers.Reading, error) {
		return []drivers.Reading{{Quantity: "moisture", Value: 31, Unit: "%", At: time.Now()}}, err
	})
}

func TestFailedReadReturnsNoValue(t *testing.T) {
	s := sensor(errors.New("no answer on the bus"))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	list, err := s.(drivers.Sensor).Read(context.Background())
	if len(list) != 0 || err == nil || err.Error() != "soil: no answer on the bus" {
		t.Errorf("Read = %v, %v; want no value and the error of the device", list, err)
	}
}

func TestStartNamesTheDevice(t *testing.T) {
	b := &board{broken: errors.New("no such bus")}
	s := gobotdevice.NewSwitch("fan", b, gpio.NewRelayDriver(b, "1"))
	if err := s.Start(); err == nil || !strings.HasPrefix(err.Error(), "fan: no such bus") {
		t.Errorf("Start = %v; want the error of the adaptor with the name of the device", err)
	}
	if err := s.Switch(context.Background(), true); !errors.Is(err, drivers.ErrNotStarted) {
		t.Errorf("Switch = %v; want ErrNotStarted", err)
	}
}
