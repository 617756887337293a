//go:build !linux

package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/mess/messeaf"
)

// Disk writes the pages of the folders to the disk.
type Disk struct{ dir string }

// OpenDisk opens the disk of a folder.
func OpenDisk(dir string) (Disk, error) { return Disk{dir}, nil }

// Close does nothing.
func (Disk) Close() error { return nil }

// Flush syncs the state folders, file by file.
func (d Disk) Flush() error {
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
