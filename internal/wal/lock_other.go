//go:build !unix

package wal

import (
	"os"

	"github.com/messkit/messkit/internal/durable"
)

// lockDir only opens the lock file: this system has no lock that ends with the process.
func lockDir(path string) (*os.File, error) {
	f, err := durable.Open(path, os.O_RDWR|os.O_CREATE)
	if unwritable(err) {
		return nil, nil
	}
	return f, err
}
