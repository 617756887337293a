//go:build !linux

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/mess/messeaf"
)

// syncFolders puts all that was written to the folders on the disk.
func (s *Store) syncFolders() error {
	var errs []error
	for _, f := range messeaf.Folders {
		errs = append(errs, filepath.WalkDir(filepath.Join(s.dir, string(f)), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // it was moved meanwhile
			}
			file, err := os.Open(path)
			if err != nil {
				return nil //nolint:nilerr // it was moved meanwhile
			}
			return errors.Join(file.Sync(), file.Close())
		}))
	}
	return errors.Join(errs...)
}
