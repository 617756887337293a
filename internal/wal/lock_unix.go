//go:build unix

package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/messkit/messkit/internal/durable"
)

// lockDir locks the file at path, or returns inUse with the process that has the lock. The lock
// ends with the process. Without write access to an existing file it returns the lock of a file
// open for reading, or nil if it cannot open the file.
func lockDir(path string) (*os.File, error) {
	f, err := durable.Open(path, os.O_RDWR|os.O_CREATE)
	if unwritable(err) {
		if f, err = durable.Open(path, os.O_RDONLY); err != nil {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(inUse{holder(f)}, f.Close())
	}
	_ = f.Truncate(0) // only people read the content
	_, _ = fmt.Fprintf(io.NewOffsetWriter(f, 0), "%d\n", os.Getpid())
	return f, nil
}

// holder returns the process in the lock file as text, or "" for none.
func holder(f *os.File) string {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0) // the file is shorter
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}
