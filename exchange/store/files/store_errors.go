package files

import (
	"errors"

	"github.com/messkit/messkit/internal/wal"
)

// ErrInUse means that another program has the folder open.
var ErrInUse = wal.ErrInUse

// Damaged reports whether err from Open means that acknowledged records are damaged.
func Damaged(err error) bool {
	_, ok := errors.AsType[*wal.CorruptError](err)
	return ok
}
