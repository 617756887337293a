package wal

import (
	"errors"
	"os"
	"syscall"
)

// reserve makes sure that the disk has room for the first n bytes of f. File
// systems that cannot promise that are taken at their word.
func reserve(f *os.File, n int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, n)
	for err == syscall.EINTR {
		err = syscall.Fallocate(int(f.Fd()), 0, 0, n)
	}
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return nil
	}
	return err
}
