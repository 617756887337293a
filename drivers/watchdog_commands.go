package drivers

import (
	"context"
	"time"
)

// WatchdogTarget is a device that another process on this host can switch off without a network,
// even while the process of its driver is dead, frozen or blocked. The device is a GPIO
// line, a file or a serial port.
type WatchdogTarget interface {
	// WatchdogCommands returns the commands for that process. A device always returns the same
	// commands.
	WatchdogCommands() WatchdogCommands
}

// WatchdogCommands contains commands for the RunWatchdogCommand function of the device's
// Kind, in JSON. They contain no secrets.
type WatchdogCommands struct {
	Off  []byte // switches the device off when its time has expired; nil if no other process can
	Safe []byte // takes the device to its safe state when its program has died; nil if it keeps its state
}

// AutoOff is a Switch whose device has a timer of its own (Shelly toggle_after, Tasmota
// PulseTime). The timer switches the device off even if this host fails.
type AutoOff interface {
	Switch
	// SwitchFor turns the device on or off, and sets the timer of the device so that it
	// turns off after it has been on for limit.
	SwitchFor(ctx context.Context, on bool, limit time.Duration) error
}

// TimerRounder is an AutoOff whose timer cannot represent every duration.
type TimerRounder interface {
	// RoundTimer returns the on time that the timer of the device sets for limit. It returns
	// 0 if the timer cannot represent limit.
	RoundTimer(limit time.Duration) time.Duration
}

// PersistentTimer is an AutoOff whose timer setting stays in the device and acts on every later
// switch-on until the driver removes it (Tasmota PulseTime).
type PersistentTimer interface {
	// TimerMayBeSet informs the driver that an earlier process has set the timer and may not
	// have removed the setting.
	TimerMayBeSet()
}

// StartHaltStates is a Switch that reports its levels at Start and at Halt: on, off or keep. The
// safety policy does not see these changes at run time, so the capabilities of the device
// decide which levels the configuration may contain.
type StartHaltStates interface {
	StartHaltStates() (initial, safe string)
}

// StateKeeper is a device without StartHaltStates that may keep its state when the driver
// halts it.
type StateKeeper interface{ KeepsState() bool }

// Unrepeatable is a device on which a repeated command has a second effect, such as a
// button. Its effect is always Once, no matter what the catalog says.
type Unrepeatable interface{ Unrepeatable() }
