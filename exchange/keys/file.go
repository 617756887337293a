package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile replaces a file, readable by its owner alone, whole or not at all.
func WriteFile(name string, data []byte) error {
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
	return syncDir(filepath.Dir(name))
}

// syncDir makes a new name in a folder survive a power cut.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
