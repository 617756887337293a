// Package state keeps what a MESH agent knows in the files that other tools of a
// mesh read: circuit breakers, dead letters, incidents, conversations, sessions,
// the health of peers, and the audit log. Each is written whole or not at all. It
// sends nothing.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// Store is a folder with the files. One process has it at a time: who opens it
// sees to that. It is safe for concurrent use.
type Store struct {
	dir string
	now func() time.Time
	log *slog.Logger

	mu        sync.Mutex
	breakers  map[string]Breaker
	letters   letters
	incidents incidents
	health    map[string]Health
	audit     *auditLog

	failing atomic.Bool // the disk did not take what was written last
}

// Failing reports whether the disk did not take what was written last.
func (s *Store) Failing() bool { return s.failing.Load() }

// Open reads the files of a folder, which it makes if it is not there. A file
// that cannot be read is set aside.
func Open(dir string, now func() time.Time, log *slog.Logger) (*Store, error) {
	for _, d := range []string{dir, filepath.Join(dir, conversationsDir), filepath.Join(dir, sessionsDir)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	s := &Store{dir: dir, now: now, log: log, breakers: map[string]Breaker{}, health: map[string]Health{}}
	s.audit = &auditLog{name: filepath.Join(dir, auditFile)}
	if err := errors.Join(read(s, breakersFile, &s.breakers), read(s, lettersFile, &s.letters), read(s, incidentsFile, &s.incidents), read(s, healthFile, &s.health)); err != nil {
		return nil, err
	}
	if s.breakers == nil { // other tools may write null
		s.breakers = map[string]Breaker{}
	}
	if s.health == nil {
		s.health = map[string]Health{}
	}
	return s, nil
}

const (
	breakersFile     = "circuit-breakers.json"
	lettersFile      = "dead-letters.json"
	incidentsFile    = "active-incidents.json"
	healthFile       = "peer-health.json"
	auditFile        = "mesh-audit.jsonl"
	conversationsDir = "conversations"
	sessionsDir      = "sessions"

	maxFile = 128 << 20 // bytes; a thousand letters of 64 KB fit
)

// read reads a file into v, which stays as it is if there is none, or none that can
// be read.
func read[T any](s *Store, name string, v *T) error {
	path := filepath.Join(s.dir, name)
	data, err := durable.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var whole T
	if err := json.Unmarshal(data, &whole); err != nil {
		s.log.Error("mesh: a file cannot be read, and is set aside", "file", name, "err", err)
		return os.Rename(path, path+".unreadable")
	}
	*v = whole
	return nil
}

// write replaces a file.
func (s *Store) write(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	err = durable.Replace(filepath.Join(s.dir, name), append(data, '\n'))
	if s.failing.Store(err != nil); err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	return nil
}

// stamped is a time as the files have it; nil for none.
func stamped(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Second)
	return &u
}
