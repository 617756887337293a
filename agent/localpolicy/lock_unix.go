//go:build unix

package localpolicy

import (
	"errors"
	"os"
	"syscall"

	"github.com/messkit/messkit/internal/durable"
)

// lock waits until no other process writes. The lock ends with the process.
func lock(name string) (unlock func(), err error) {
	f, err := durable.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // nothing writes to it
}
