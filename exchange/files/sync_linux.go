package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFolders puts all that was written to the folders on the disk.
func (s *Store) syncFolders() error {
	f, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
