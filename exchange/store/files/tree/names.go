package tree

import (
	"errors"
	"os"
	"path"
)

// MakeDir makes a folder and its parents. Their names are on the disk when it returns.
func MakeDir(root *os.Root, name string) error {
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	if err := root.MkdirAll(name, 0o700); err != nil {
		return err
	}
	for name != "." {
		name = path.Dir(name)
		if err := SyncDir(root, name); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir syncs the names in a folder to the disk.
func SyncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
