package files

import (
	"errors"

	"github.com/messkit/messkit/internal/wal"
)

// ErrInUse: another program has the folder open.
var ErrInUse = wal.ErrInUse

// Damaged reports whether Open has found damage in what had been acknowledged.
func Damaged(err error) bool {
	_, ok := errors.AsType[*wal.CorruptError](err)
	return ok
}
