package journal

import (
	"io"

	"github.com/messkit/messkit/internal/wal"
)

// ErrInUse reports that another program has locked the folder.
var ErrInUse = wal.ErrInUse

// Lock keeps other programs away from a folder's devices before a journal exists, with a lock
// file at path. Close or the end of the program releases it. On a read-only file system there
// is no lock and no error.
func Lock(path string) (io.Closer, error) { return wal.Lock(path) }
