package wal

import (
	"errors"
	"io"
)

// ErrInUse means that another program has the log open.
var ErrInUse = errors.New("in use")

// inUse is the error with the process that has the log open.
type inUse struct{ holder string }

func (e inUse) Error() string {
	return "another program" + e.holder + " has it open; stop that one first"
}

func (e inUse) Is(target error) bool { return target == ErrInUse }

// Lock locks a file against other programs, until the caller closes it or the process ends. On a
// disk without write access it does not lock, and returns no error.
func Lock(path string) (io.Closer, error) {
	f, err := lockDir(path)
	if f == nil {
		return io.NopCloser(nil), err
	}
	return f, err
}
