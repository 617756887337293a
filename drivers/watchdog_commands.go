package drivers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// SwitchLevels contains the levels that a switch takes at Start and at Halt: on, off or
// keep. The configurations of switches embed it. It implements StartHaltStates.
type SwitchLevels struct {
	Initial string `yaml:"initial"` // level at Start: on, off or keep
	Safe    string `yaml:"safe"`    // level at Halt: on, off or keep
}

// StartHaltStates returns both levels.
func (l SwitchLevels) StartHaltStates() (initial, safe string) { return l.Initial, l.Safe }

// Validate returns an error for each unknown level. It begins with the key.
func (l SwitchLevels) Validate() error {
	var errs []error
	for _, level := range [][2]string{{"initial", l.Initial}, {"safe", l.Safe}} {
		if key, word := level[0], level[1]; word != "on" && word != "off" && word != "keep" {
			errs = append(errs, fmt.Errorf("%s: %q is unknown; write on, off or keep", key, word))
		}
	}
	return errors.Join(errs...)
}

// SetInitial calls set with the level of Start, if there is one.
func (l SwitchLevels) SetInitial(set func(on bool) error) error { return setLevel(l.Initial, set) }

// SetSafe calls set with the level of Halt, if there is one.
func (l SwitchLevels) SetSafe(set func(on bool) error) error { return setLevel(l.Safe, set) }

func setLevel(level string, set func(on bool) error) error {
	if level == "keep" {
		return nil
	}
	return set(level == "on")
}

// IsSafe reads back whether the switch has the level of Halt. It does not call read if the
// switch keeps its level.
func (l SwitchLevels) IsSafe(read func() (bool, error)) (bool, error) {
	if l.Safe == "keep" {
		return true, nil
	}
	on, err := read()
	return err == nil && on == (l.Safe == "on"), err
}

// WatchdogCommands returns the commands with which another process sets the levels. order returns
// the command for one level; JSON must be able to represent it.
func (l SwitchLevels) WatchdogCommands(order func(on bool) any) WatchdogCommands {
	command := func(on bool) []byte {
		data, _ := json.Marshal(order(on)) // the caller guarantees that this cannot fail
		return data
	}
	orders := WatchdogCommands{Off: command(false)}
	if l.Safe != "keep" {
		orders.Safe = command(l.Safe == "on")
	}
	return orders
}
