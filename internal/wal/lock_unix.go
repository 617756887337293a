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

// lockDir keeps a second program out, and tells it who is in. The lock goes with
// the process, however it ends. Where nobody can write there is none.
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
	_ = f.Truncate(0) // the content only helps people
	_, _ = fmt.Fprintf(io.NewOffsetWriter(f, 0), "%d\n", os.Getpid())
	return f, nil
}

// holder names the process that has the lock, if it has said so.
func holder(f *os.File) string {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0) // less than that is there
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}
