// Package setup changes the configuration of a running program: it finds devices, adds one,
// changes or removes one, and saves an edited text. It applies what it can without a restart, and
// says which keys need one.
package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Program is the running program.
type Program interface {
	// Config returns the configuration that the program uses now.
	Config() *config.Config
	// Load checks a text as the configuration file name, and opens its devices without a start.
	Load(name string, text []byte) (*config.Config, error)
	// Apply makes c.Next the configuration of the program. If it returns an error, the program uses
	// Config as before.
	Apply(ctx context.Context, c Change) error
	// InUse returns why a device cannot be removed or replaced now: a task uses it, or waits for it.
	InUse(ctx context.Context, device string) error
	// Test uses a device without an effect, as messkit doctor does. The safety policy permits the use.
	Test(ctx context.Context, device string) (TestResult, error)
	// NeedsRestart returns why a device starts and ends with the program alone; "" if it can start and
	// end now.
	NeedsRestart(d config.Device) string
}

// Change is a change of the configuration that applies without a restart. It adds, removes or replaces
// at most one device.
type Change struct {
	Next      *config.Config
	Added     string   // "" for none, as below
	Removed   string   // it goes to its safe state first
	Replaced  string   // the same, and then it starts with its new configuration
	Described []string // devices with another label, area or hidden, or other aliases, alone
}

// Setup changes the configuration of a program. It is safe for concurrent use.
type Setup struct {
	program Program
	log     *slog.Logger

	changing sync.Mutex // one change at a time

	mu     sync.Mutex
	search *search // nil before the first
}

// New returns a Setup of a program.
func New(p Program, log *slog.Logger) *Setup { return &Setup{program: p, log: log} }

// Executor returns the id of the executor.
func (s *Setup) Executor() string { return s.program.Config().Agent.ID }

// Document is the configuration file.
type Document struct {
	File     string   `json:"file"`
	Exists   bool     `json:"exists"`   // false: the first change makes it
	Text     string   `json:"text"`     // it may contain passwords
	Revision string   `json:"revision"` // for Save; "" for a missing file
	Backups  []string `json:"backups"`  // file names, the newest first
}

// Problem is a problem of a text.
type Problem struct {
	Line   int    `json:"line"`             // from 1; 0 for the whole text, or if unknown
	Column int    `json:"column,omitempty"` // in characters from 1; 0 if unknown
	Path   string `json:"path"`             // devices.porch-lamp.pin; "" for the whole text
	Text   string `json:"text"`             // problem; remedy
}

// Result is the result of a change.
type Result struct {
	File     string    `json:"file"`
	Backup   string    `json:"backup,omitempty"` // file name of the backup of the earlier text
	Device   string    `json:"device,omitempty"` // the changed device
	Revision string    `json:"revision,omitempty"`
	Restart  []string  `json:"restart"`            // the keys that need a restart, with the reason if it is not their kind
	Problems []Problem `json:"problems,omitempty"` // why nothing was changed
}

// file returns the path of the configuration file. A program without one begins it in its data
// folder, where the next run finds it.
func (s *Setup) file() string {
	c := s.program.Config()
	if c.File != "" {
		return c.File
	}
	return filepath.Join(c.Agent.Data, config.StartedFile)
}

// read returns the text of the file, or that of the built-in configuration without a file.
func (s *Setup) read() (text []byte, revision string, err error) {
	text, revision, err = edit.Read(s.file())
	if err != nil || revision != "" || s.program.Config().File != "" {
		return text, revision, err
	}
	text = config.SimulatedHome
	local := s.program.Config().Local
	for _, one := range slices.Sorted(maps.Keys(local)) {
		if text, err = edit.AddDevice(text, one, local[one], "found on this machine"); err != nil {
			return nil, "", err
		}
	}
	return text, "", nil
}

// Document returns the configuration file. Its text may contain passwords.
func (s *Setup) Document() (any, error) {
	text, revision, err := s.read()
	if err != nil {
		return nil, err
	}
	d := Document{File: s.file(), Exists: revision != "", Text: string(text), Revision: revision, Backups: edit.Backups(s.file())}
	if d.Backups == nil {
		d.Backups = []string{}
	}
	return d, nil
}

// Backup returns the text of a backup that Document lists.
func (s *Setup) Backup(name string) (string, error) {
	text, err := edit.Backup(s.file(), name)
	return string(text), err
}

// Check returns the problems of a text, as messkit check does.
func (s *Setup) Check(text string) any {
	_, list := s.check([]byte(text))
	return map[string]any{"problems": list}
}

// check returns the configuration of a text and its problems.
func (s *Setup) check(text []byte) (*config.Config, []Problem) {
	c, err := s.program.Load(s.file(), text)
	list := []Problem{}
	if all, ok := errors.AsType[strictyaml.Problems](err); ok {
		for _, p := range all {
			list = append(list, Problem{p.Line, p.Column, p.Path, p.Text})
		}
	} else if err != nil {
		list = append(list, Problem{Text: err.Error()})
	}
	return c, list
}

// Save writes a text that has no problems, if the file still has a revision, and applies it. With
// problems it changes nothing and returns them.
func (s *Setup) Save(ctx context.Context, text, revision string) (any, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.save(ctx, []byte(text), revision)
}

// save is Save for a caller that holds changing.
func (s *Setup) save(ctx context.Context, text []byte, revision string) (Result, error) {
	name := s.file()
	next, problems := s.check(text)
	if len(problems) > 0 {
		return Result{File: name, Problems: problems, Restart: []string{}}, nil
	}
	old, _, err := edit.Read(name)
	if err != nil {
		return Result{}, err
	}
	d := s.compare(s.program.Config(), next)
	backup, err := edit.Save(name, text, revision, time.Now())
	if err != nil {
		return Result{}, err
	}
	d.Next = merge(s.program.Config(), next, d)
	if err := s.program.Apply(ctx, d.Change); err != nil {
		return Result{}, errors.Join(fmt.Errorf("nothing was changed: %w", err), undo(name, old, text, backup))
	}
	s.log.Info("configuration saved", "file", name, "backup", backup, "restart", d.restart)
	r := Result{File: name, Revision: edit.Revision(text), Restart: d.restart}
	if backup != "" {
		r.Backup = filepath.Base(backup)
	}
	return r, nil
}

// undo writes the earlier text of a file, and removes the backup of it and that of the new text.
func undo(name string, old, text []byte, backup string) error {
	if backup == "" {
		return os.Remove(name)
	}
	second, err := edit.Save(name, old, edit.Revision(text), time.Now())
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(backup), os.Remove(second))
}
