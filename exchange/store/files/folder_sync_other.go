//go:build !linux

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/mess/messeaf"
)

// disk writes the pages of the folders to the disk.
type disk struct{ dir string }

func openDisk(dir string) (disk, error) { return disk{dir}, nil }

func (disk) Close() error { return nil }

func (d disk) sync() error {
	var errs []error
	for _, f := range messeaf.Folders {
		errs = append(errs, filepath.WalkDir(filepath.Join(d.dir, string(f)), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // another program has moved it
			}
			file, err := os.Open(path)
			if err != nil {
				return nil //nolint:nilerr // another program has moved it
			}
			return errors.Join(file.Sync(), file.Close())
		}))
	}
	return errors.Join(errs...)
}
