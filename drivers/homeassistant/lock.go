package homeassistant

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

func (e *entity) lock(ctx context.Context) error { return e.secure(ctx, "lock", "locked") }

func (e *entity) unlock(ctx context.Context) error { return e.secure(ctx, "unlock", "unlocked") }

// secure locks or unlocks. It sends the code only to Home Assistant.
func (e *entity) secure(ctx context.Context, service, end string) error {
	var data map[string]any
	if e.code != "" {
		data = map[string]any{"code": string(e.code)}
	}
	if err := e.call(ctx, service, data, func(s state) bool { return s.State == end || s.State == "jammed" }); err != nil {
		return err
	}
	_, err := e.locked(ctx)
	return err
}

// locked reads the state back. It returns an error for a lock that moves.
func (e *entity) locked(ctx context.Context) (bool, error) {
	s, err := e.state(ctx)
	switch {
	case err != nil:
		return false, err
	case s.State == "locked":
		return true, nil
	case s.State == "unlocked" || s.State == "open":
		return false, nil
	case s.State == "jammed":
		return false, &drivers.HelpError{Problem: "the lock is jammed", Help: "remove the obstacle, and turn the lock by hand"}
	}
	return false, fmt.Errorf("the state of the lock is %.40s", s.State)
}

func (e *entity) readLock(ctx context.Context) ([]drivers.Reading, error) {
	is, err := e.locked(ctx)
	if err != nil {
		return nil, err
	}
	return []drivers.Reading{{Quantity: "locked", Value: boolValue(is), At: e.now()}}, nil
}
