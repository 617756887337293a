package resources

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FreeSpace returns the free bytes for a folder, or for its nearest existing parent. known is
// false if the file system reports no sizes.
func FreeSpace(dir string) (free uint64, of string, known bool) {
	var s unix.Statfs_t
	for unix.Statfs(dir, &s) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return uint64(s.Bsize) * uint64(s.Bavail), dir, s.Blocks > 0
}
