//go:build !linux

package stop

import (
	"context"
	"errors"
)

// NewLine makes a line that cannot be read, and so stops: there is no GPIO
// character device here. Without a line it is nil.
func NewLine(c LineConfig) Line {
	if c.Line < 0 {
		return nil
	}
	return noLine{}
}

type noLine struct{}

func (noLine) String() string { return "the stop line" }

func (noLine) Watch(context.Context, func(bool)) error {
	return errors.New("there are no GPIO lines on this system; leave stop_line out")
}
