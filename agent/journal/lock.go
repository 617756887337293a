package journal

import (
	"io"

	"github.com/messkit/messkit/internal/wal"
)

// ErrInUse: another program has the folder.
var ErrInUse = wal.ErrInUse

// Lock keeps a second program out of a folder's devices, before there is a
// journal, by a file in it. It is let go by Close, or with the program. Where
// nobody can write there is no lock, and no error.
func Lock(path string) (io.Closer, error) { return wal.Lock(path) }
