package drivers

import (
	"context"
	"time"
)

// Guarded is a device that another process of this machine can switch off by
// itself, without a network and while its driver's process is dead, frozen or
// hanging: a line, a file, a serial port.
type Guarded interface {
	// Orders are what that process has to be told. The same device gives the same
	// orders always.
	Orders() Orders
}

// Orders are words for the Obey of the device's Kind, in JSON. They hold no
// secrets.
type Orders struct {
	Off  []byte // switches it off: its time is over; nil: nobody else can
	Safe []byte // takes it to its safe state: its program is gone; nil: it stays as it is
}

// AutoOff is a Switch whose device has a timer of its own (Shelly toggle_after,
// Tasmota PulseTime), which goes off whatever becomes of this machine.
type AutoOff interface {
	Switch
	// SwitchFor turns it on or off, and has the device go off by itself when it has
	// been on for limit.
	SwitchFor(ctx context.Context, on bool, limit time.Duration) error
}

// TimerLength is an AutoOff whose timer cannot take every time.
type TimerLength interface {
	// TimerFor is how long the timer lets the device be on where that is to be limit; 0 where
	// the timer cannot be set for it.
	TimerFor(limit time.Duration) time.Duration
}

// TimerKeeper is an AutoOff whose timer stays set in the device for whatever switches it
// on later, until it is taken away (Tasmota PulseTime).
type TimerKeeper interface {
	// TimerLeft says that an earlier run has set it, and may not have taken it away.
	TimerLeft()
}

// Levels is a Switch that tells what it is set to when it is opened and when it
// ends: on, off or keep. Neither passes a gate, so what they may be depends on
// what the device can do.
type Levels interface {
	Levels() (initial, safe string)
}

// Keeper is a device without Levels that may be set to stay as it is when it is
// halted.
type Keeper interface{ Keeps() bool }

// Unrepeatable is a device that does something else when it is told a second
// time, as a button does. Its effect is once, whatever the catalogue says.
type Unrepeatable interface{ Unrepeatable() }
