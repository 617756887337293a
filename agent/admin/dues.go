package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/internal/durable"
)

// Dues keep what is on for a time in a small file, written whole or not at all.
type Dues struct{ file string }

var _ gate.Dues = Dues{}

// Dues is what is to be switched off, in the folder.
func (f Folder) Dues() Dues { return Dues{filepath.Join(f.dir, "due.json")} }

// Dues implements gate.Dues; where nothing was kept yet there are none.
func (d Dues) Dues() (map[string]gate.Due, error) {
	data, err := durable.Read(d.file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	due, err := parseDues(data)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", d.file, err), os.Rename(d.file, d.file+".damaged"))
	}
	return due, nil
}

// Keep implements gate.Dues.
func (d Dues) Keep(due map[string]gate.Due) error {
	data, err := json.MarshalIndent(due, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.file), 0o700); err != nil {
		return err
	}
	return durable.Replace(d.file, append(data, '\n'))
}

// parseDues reads what Keep has written, and nothing else.
func parseDues(data []byte) (map[string]gate.Due, error) {
	var due map[string]gate.Due
	if err := exactly(data, &due); err != nil {
		return nil, err
	}
	return due, nil
}
