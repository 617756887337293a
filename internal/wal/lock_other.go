//go:build !unix

package wal

import (
	"os"

	"github.com/messkit/messkit/internal/durable"
)

// lockDir opens the lock file; there is no lock on this system that would go
// with the process.
func lockDir(path string) (*os.File, error) {
	f, err := durable.Open(path, os.O_RDWR|os.O_CREATE)
	if unwritable(err) {
		return nil, nil
	}
	return f, err
}
