// Package blobs keeps the attachments of an exchange in a folder, each once. It knows no threads: the
// caller says which attachments they use.
package blobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// Store is a folder of files with their SHA-256 as names.
type Store struct {
	dir string

	mu    sync.Mutex
	begun map[string]bool // names of files with an upload in progress
	size  int64           // total size in bytes
	total int64           // written since the start
	day   time.Time       // day of today
	today int64
}

// isSum reports whether s is a SHA-256 in hexadecimal.
func isSum(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// Open opens a folder, or makes it.
func Open(dir string) (*Store, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("attachments: %w", err)
	}
	return &Store{dir: dir, begun: map[string]bool{}}, nil
}

// path returns the path of the file with a sum. The error for an invalid sum wraps
// os.ErrNotExist.
func (b *Store) path(sum string) (string, error) {
	if !isSum(sum) {
		return "", fmt.Errorf("%.80q is not a SHA-256: %w", sum, os.ErrNotExist)
	}
	return filepath.Join(b.dir, sum), nil
}

// Has reports whether there is a file with a sum.
func (b *Store) Has(sum string) bool {
	name, err := b.path(sum)
	if err == nil {
		_, err = os.Stat(name)
	}
	return err == nil
}

// Open opens the file with a sum.
func (b *Store) Open(sum string) (*os.File, error) {
	name, err := b.path(sum)
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}
