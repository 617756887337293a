package drivers

import (
	"context"
	"time"
)

// Presser does one thing when it is set off, by itself and to its end: a button, a
// scene, a script. To do so twice is not to do so once: it is Unrepeatable as well.
type Presser interface {
	// Press sets it off, and returns when the device says that it has heard. A device
	// that has not heard, or is at it still and would do nothing more, is
	// ErrNothingDone.
	Press(ctx context.Context) error
}

// PressReader reads back from the device when it was set off last, by whomever.
type PressReader interface {
	Pressed(ctx context.Context) (Pressed, error)
}

// Pressed is what a Presser tells of itself.
type Pressed struct {
	At   time.Time // when it was set off last, by the device's clock; zero for never
	Runs bool      // it is at it still
}
