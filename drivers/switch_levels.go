package drivers

import (
	"encoding/json"
	"errors"
	"fmt"
)

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
