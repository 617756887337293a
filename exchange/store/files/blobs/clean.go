package blobs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unusedFor is the time that a file stays without a reference from a thread. The message that
// binds it may still follow.
const unusedFor = 7 * 24 * time.Hour

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
