package wal

import (
	"errors"
	"os"
	"syscall"
)

// reserve reserves room on the disk for the first n bytes of f. It ignores file systems that do
// not support this.
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
