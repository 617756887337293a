// Package blobs keeps the attachments of an exchange in a folder, each once. It knows no threads: the
// caller says which attachments they use.
package blobs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
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

// unusedFor is the time that a file stays without a reference from a thread. The message that
// binds it may still follow.
const unusedFor = 7 * 24 * time.Hour

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

// temporary is the prefix of the names of incomplete files.
const temporary = "staged-"

// Add stores at most that many bytes, and syncs them before it returns.
func (b *Store) Add(data io.Reader, most int64) (thread.Staged, error) {
	f, err := b.begin()
	if err != nil {
		return thread.Staged{}, err
	}
	defer b.end(f.Name())
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(data, most+1))
	if err == nil && n > most {
		err = thread.ErrTooLarge
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return thread.Staged{}, err
	}
	s := thread.Staged{SHA256: hex.EncodeToString(h.Sum(nil)), Size: n}
	known := b.Has(s.SHA256)
	if err := b.keep(f.Name(), s.SHA256); err != nil {
		return s, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(time.Now())
	b.total += n
	b.today += n
	if !known {
		b.size += n
	}
	return s, nil
}

// begin makes a file for an upload. Clean does not remove it until end.
func (b *Store) begin() (*os.File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := os.CreateTemp(b.dir, temporary+"*")
	if err == nil {
		b.begun[filepath.Base(f.Name())] = true
	}
	return f, err
}

// end removes the file of an upload, unless keep has renamed it.
func (b *Store) end(name string) {
	_ = os.Remove(name) // Clean tries again
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.begun, filepath.Base(name))
}

// abandoned reports whether a file is the rest of an interrupted upload.
func (b *Store) abandoned(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.HasPrefix(name, temporary) && !b.begun[name]
}

// Written returns the total size, the bytes written since Open, and the bytes written today.
func (b *Store) Written() (size, total, today int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(time.Now())
	return b.size, b.total, b.today
}

// turn resets the count of today when the date changes.
func (b *Store) turn(now time.Time) {
	y, m, d := now.Date()
	if day := time.Date(y, m, d, 0, 0, 0, 0, now.Location()); !day.Equal(b.day) {
		b.day, b.today = day, 0
	}
}

func (b *Store) keep(temp, sum string) error {
	if err := os.Rename(temp, filepath.Join(b.dir, sum)); err != nil {
		return err
	}
	dir, err := os.Open(b.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Clean removes the rests of uploads, and files without a reference for a long time.
func (b *Store) Clean(used map[string]bool) error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	var errs []error
	var kept int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // another goroutine has removed it
		}
		old := time.Since(info.ModTime()) > unusedFor && isSum(e.Name()) && !used[e.Name()]
		if old || b.abandoned(e.Name()) {
			if err := os.Remove(filepath.Join(b.dir, e.Name())); !errors.Is(err, os.ErrNotExist) { // an upload has just ended
				errs = append(errs, err)
			}
			continue
		}
		if !strings.HasPrefix(e.Name(), temporary) {
			kept += info.Size()
		}
	}
	b.mu.Lock()
	b.size = kept // the next call counts concurrent uploads
	b.mu.Unlock()
	return errors.Join(errs...)
}
