package drivers

import (
	"context"
	"time"
)

// Presser triggers one action that runs to its end without further control: a button, a
// scene, a script. Two presses have two effects, so a Presser is Unrepeatable as well.
type Presser interface {
	// Press triggers the action and returns when the device has acknowledged it. It returns
	// ErrNothingDone if the device did not receive the command, or is still running the
	// action and would ignore another press.
	Press(ctx context.Context) error
}

// PressReader reads back from the device when any client last triggered it.
type PressReader interface {
	PressState(ctx context.Context) (PressState, error)
}

// PressState contains the state that a Presser reports.
type PressState struct {
	At      time.Time // last press by the clock of the device; zero for never
	Running bool      // the action is still running
}
