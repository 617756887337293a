package stop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/system"
)

var _ Line = (*gpioLine)(nil)

// gpioLine is a line of the kernel's GPIO character device, by Gobot.
type gpioLine struct{ cfg LineConfig }

// NewLine makes the line of a valid configuration; nil for none. It does not
// open it.
func NewLine(c LineConfig) Line {
	if c.Line < 0 {
		return nil
	}
	return &gpioLine{c}
}

func (l *gpioLine) String() string { return fmt.Sprintf("line %d of %s", l.cfg.Line, l.cfg.Chip) }

const (
	// Contacts bounce for some milliseconds; the order for a stop is not kept
	// waiting for that.
	debounce = 5 * time.Millisecond
	// A chip that was unplugged tells nothing; reading does.
	readEvery = 500 * time.Millisecond
)

// Watch follows the line until ctx ends or it cannot be read.
func (l *gpioLine) Watch(ctx context.Context, stops func(bool)) (err error) {
	edges := make(chan struct{}, 1)
	pin, err := l.open(func() {
		select {
		case edges <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pin.Unexport()) }()
	t := time.NewTicker(readEvery)
	defer t.Stop()
	for {
		level, err := pin.Read()
		if err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
		stops((level == 1) == (l.cfg.StopsOn == "high"))
		select {
		case <-ctx.Done():
			return nil
		case <-edges:
		case <-t.C:
		}
	}
}

func (l *gpioLine) open(edge func()) (gobot.DigitalPinner, error) {
	a := system.NewAccesser()
	a.AddDigitalPinSupport(system.WithDigitalPinCdevAccess())
	options := []func(gobot.DigitalPinOptioner) bool{
		system.WithPinLabel("messkit stop"), system.WithPinDirectionInput(), system.WithPinDebounce(debounce),
		system.WithPinEventOnBothEdges(func(int, time.Duration, string, uint32, uint32) { edge() }),
	}
	switch l.cfg.Bias {
	case "up":
		options = append(options, system.WithPinPullUp())
	case "down":
		options = append(options, system.WithPinPullDown())
	}
	pin := a.NewDigitalPin(l.cfg.Chip, l.cfg.Line, options...)
	if err := pin.Export(); err != nil {
		return nil, fmt.Errorf("%s: %w; is the chip there, is the line free, may it be opened?", l, err)
	}
	return pin, nil
}
