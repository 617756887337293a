//go:build unix

package wal

import (
	"errors"
	"os"
	"syscall"
)

// lockDir keeps a second program out. The lock goes with the process, however
// it ends.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errors.New("another program has it open; stop that one first"), f.Close())
	}
	return f, nil
}
