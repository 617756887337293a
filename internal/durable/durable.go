// Package durable writes small files so that a power cut leaves the old one or the
// new one.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Replace writes a file, readable by its owner alone, whole or not at all, and
// returns when it is on the disk.
func Replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // made with 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(name))
}

// SyncDir makes what was done to the names in a folder survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
