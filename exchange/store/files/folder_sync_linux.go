package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// disk writes the pages of the folders to the disk. It keeps one descriptor open for the whole
// life of a store: syncfs reports an error of the disk once to each descriptor that was open at
// the time of the error (syncfs(2)). A new descriptor may never report it.
type disk struct{ *os.File }

func openDisk(dir string) (disk, error) {
	f, err := os.Open(dir)
	return disk{f}, err
}

func (d disk) sync() error { return unix.Syncfs(int(d.Fd())) }
