package journal

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/messkit/messkit/internal/durable"
)

// maxRuns bounds how many names of processes that have written the journal are kept. Each
// of them but the last has ended: a journal has one writer at a time.
const maxRuns = 64

// runsFile is where an older version has kept the names; maxBytes bounds what is read.
const (
	runsFile = "runs"
	maxBytes = 16 << 10
)

// Run notes that a process begins to write the journal. With an error the name counts as
// long as the program runs.
func (j *Journal) Run(ctx context.Context, process string) error {
	j.mu.Lock()
	named := len(j.runs) > 0
	j.mu.Unlock()
	if named {
		return j.tell(ctx, record{Kind: kindRun, Boot: process}, nil)
	}
	file := filepath.Join(j.dir, runsFile)
	names, none := readRuns(file)
	j.mu.Lock()
	j.anyRun = none
	j.mu.Unlock()
	var records []record
	for _, name := range append(names, process) {
		records = append(records, record{Kind: kindRun, Boot: name})
	}
	err := j.note(ctx, nil, true, records...)
	if err == nil && !none {
		return durable.SetAside(file)
	}
	return err
}

// readRuns reads the names that an older version has kept; none reports whether it has kept
// none. What cannot be read names nobody: what was begun by others is left alone.
func readRuns(file string) (names []string, none bool) {
	if !durable.There(file) {
		return nil, true
	}
	data, err := durable.Read(file, maxBytes)
	if err != nil {
		return nil, false
	}
	names, _ = parseRuns(data)
	return names, false
}

// RunBy reports whether a process has written this journal, so that the journal knows
// all that it has begun.
func (j *Journal) RunBy(process string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.anyRun || slices.Contains(j.runs, process)
}

// parseRuns reads what an older version has written. An error goes with no names.
func parseRuns(data []byte) ([]string, error) {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}
