// Package durable writes small files so that a power cut leaves the old one or the
// new one.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Replace writes a file that only its owner can read, as a whole or not at all. It returns when
// the file is on the disk.
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

// SyncDir makes new, changed and removed names of a folder survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SetAside renames a file or a folder to NAME.old, and replaces an earlier one. The new name is
// on the disk when SetAside returns nil. It does nothing if name does not exist.
func SetAside(name string) error {
	if !There(name) {
		return nil
	}
	if err := errors.Join(os.RemoveAll(name+".old"), os.Rename(name, name+".old")); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// MkdirAll makes a folder and its parents, and syncs the parent of each new one. Without that
// a power cut can lose the name of a new folder.
func MkdirAll(dir string, perm os.FileMode) error {
	var made []string
	for d := filepath.Clean(dir); !There(d) && d != filepath.Dir(d); d = filepath.Dir(d) {
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, perm); err != nil {
		return err
	}
	for _, d := range slices.Backward(made) {
		if err := SyncDir(filepath.Dir(d)); err != nil && !errors.Is(err, fs.ErrPermission) { // some users may write to a folder that they may not read
			return err
		}
	}
	return nil
}
