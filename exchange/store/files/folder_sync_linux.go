package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// disk puts on the disk what was written to the folders. It is one descriptor for the whole
// life of a store: syncfs reports an error of the disk once to each descriptor that was open
// when it happened (syncfs(2)), and to a new one perhaps never.
type disk struct{ *os.File }

func openDisk(dir string) (disk, error) {
	f, err := os.Open(dir)
	return disk{f}, err
}

func (d disk) sync() error { return unix.Syncfs(int(d.Fd())) }
