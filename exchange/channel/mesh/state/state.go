// Package state stores the state of a MESH agent in the files that other tools of a mesh read. The
// files contain circuit breakers, dead letters, incidents, conversations, sessions, the health of
// peers, and the audit log. The package writes each file whole or not at all, and sends nothing.
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

// Store is a folder with the files. The caller must make sure that only one process opens it. It
// is safe for concurrent use.
type Store struct {
	dir string
	now func() time.Time
	log *slog.Logger

	mu          sync.Mutex
	breakers    map[string]Breaker
	deadLetters deadLetters
	incidents   incidents
	health      map[string]Health
	audit       *auditLog

	failing atomic.Bool // the last write has failed
}

// Failing reports whether the last write has failed.
func (s *Store) Failing() bool { return s.failing.Load() }

// Open reads the files of a folder, and makes the folder if it does not exist. It renames a file
// that it cannot parse.
func Open(dir string, now func() time.Time, log *slog.Logger) (*Store, error) {
	for _, d := range []string{dir, filepath.Join(dir, conversationsDir), filepath.Join(dir, sessionsDir)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	s := &Store{dir: dir, now: now, log: log, breakers: map[string]Breaker{}, health: map[string]Health{}}
	s.audit = &auditLog{name: filepath.Join(dir, auditFile)}
	if err := errors.Join(read(s, breakersFile, &s.breakers), read(s, deadLettersFile, &s.deadLetters), read(s, incidentsFile, &s.incidents), read(s, healthFile, &s.health)); err != nil {
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
	deadLettersFile  = "dead-letters.json"
	incidentsFile    = "active-incidents.json"
	healthFile       = "peer-health.json"
	auditFile        = "mesh-audit.jsonl"
	conversationsDir = "conversations"
	sessionsDir      = "sessions"

	maxFile = 128 << 20 // bytes; a thousand dead letters of 64 KB fit
)

// read parses a file into v. It leaves v unchanged if the file does not exist or is invalid.
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
		s.log.Error("mesh: cannot parse a file; messkit renames it", "file", name, "err", err)
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

// stamped returns a time in the form of the files; nil for none.
func stamped(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Second)
	return &u
}
