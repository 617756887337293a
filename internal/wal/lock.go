package wal

import (
	"errors"
	"io"
)

// ErrInUse: another program has the log open.
var ErrInUse = errors.New("in use")

// inUse says who has the log open.
type inUse struct{ holder string }

func (e inUse) Error() string {
	return "another program" + e.holder + " has it open; stop that one first"
}

func (e inUse) Is(target error) bool { return target == ErrInUse }

// Lock locks a file against other programs, until it is closed or the program ends in any way.
// On a disk without write access it returns no lock and no error.
func Lock(path string) (io.Closer, error) {
	f, err := lockDir(path)
	if f == nil {
		return io.NopCloser(nil), err
	}
	return f, err
}
