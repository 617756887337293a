//go:build !linux

package stop

import (
	"context"
	"errors"
)

// NewInput returns a line that is unreadable, because this system has no GPIO character device;
// the latch then stops. It returns nil for a configuration without a line.
func NewInput(c InputConfig) Input {
	if c.Line < 0 {
		return nil
	}
	return noInput{}
}

type noInput struct{}

func (noInput) String() string { return "the stop line" }

func (noInput) Watch(context.Context, func(bool)) error {
	return errors.New("there are no GPIO lines on this system; leave stop_line out")
}
