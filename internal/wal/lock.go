package wal

import "errors"

// ErrInUse: another program has the log open.
var ErrInUse = errors.New("in use")

// inUse says who has the log open.
type inUse struct{ holder string }

func (e inUse) Error() string {
	return "another program" + e.holder + " has it open; stop that one first"
}

func (e inUse) Is(target error) bool { return target == ErrInUse }
