package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// Disk writes the pages of the folders to the disk. It keeps one descriptor open for the whole
// life of a store: syncfs reports an error of the disk once to each descriptor that was open at
// the time of the error (syncfs(2)). A new descriptor may never report it.
type Disk struct{ *os.File }

// OpenDisk opens the disk of a folder.
func OpenDisk(dir string) (Disk, error) {
	f, err := os.Open(dir)
	return Disk{f}, err
}

// Flush syncs the whole file system.
func (d Disk) Flush() error { return unix.Syncfs(int(d.Fd())) }
