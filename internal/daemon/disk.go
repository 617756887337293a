package daemon

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FreeSpace is how many bytes are left for a folder, or for the one above that is
// there. Not every file system tells.
func FreeSpace(dir string) (free uint64, of string, told bool) {
	var s unix.Statfs_t
	for unix.Statfs(dir, &s) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return uint64(s.Bsize) * uint64(s.Bavail), dir, s.Blocks > 0
}
