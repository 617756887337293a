package blobs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/exchange/thread"
)

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
