//go:build !unix

package wal

import "os"

// lockDir opens the lock file; there is no lock on this system that would go
// with the process.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if unwritable(err) {
		return nil, nil
	}
	return f, err
}
