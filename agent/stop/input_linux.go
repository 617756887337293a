package stop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/wait"
)

var _ Input = (*gpioInput)(nil)

// gpioInput is a line of the kernel's GPIO character device.
type gpioInput struct {
	cfg   InputConfig
	chips board.Chips
}

// NewInput returns the line of a valid configuration; nil for none. It does not open the line.
func NewInput(c InputConfig) Input {
	if c.Line < 0 {
		return nil
	}
	return &gpioInput{c, board.Kernel{}}
}

func (l *gpioInput) String() string { return fmt.Sprintf("line %d of %s", l.cfg.Line, l.cfg.Chip) }

const (
	// Contacts bounce for some milliseconds. The stop comes within this delay.
	debounce = 5 * time.Millisecond
	// An unplugged chip sends no event; reading it fails.
	readEvery = 500 * time.Millisecond
)

// Watch implements Line.
func (l *gpioInput) Watch(ctx context.Context, stops func(bool)) (err error) {
	edges := make(chan struct{}, 1)
	line, at, err := board.Open(l.chips, board.Line{Chip: l.cfg.Chip, Line: strconv.Itoa(l.cfg.Line)}, board.Request{
		Label: board.ConsumerName("stop"), Start: board.Input, Bias: l.cfg.Bias, Debounce: debounce,
		Edge: func(bool) {
			wait.Notify(edges)
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, line.Close()) }()
	t := time.NewTicker(readEvery)
	defer t.Stop()
	for {
		high, err := line.Value()
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		stops(high == (l.cfg.StopsOn == "high"))
		select {
		case <-ctx.Done():
			return nil
		case <-edges:
		case <-t.C:
		}
	}
}
