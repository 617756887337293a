package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/messkit/messkit/internal/durable"
)

// runsFile lies beside the segments. It names the last processes that have written the
// journal. Each of them but the last has ended: a journal has one writer at a time.
const (
	runsFile = "runs"
	maxRuns  = 64
	maxBytes = 16 << 10 // of the file
)

// Run notes that a process begins to write the journal.
func (j *Journal) Run(process string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	file := filepath.Join(j.dir, runsFile)
	data, err := durable.Read(file, maxBytes)
	j.anyRun = errors.Is(err, fs.ErrNotExist) // an earlier version wrote no names
	if err == nil {
		j.runs, err = parseRuns(data)
	}
	if err != nil && !j.anyRun {
		j.runs = nil // begun anew: what is not named here is left alone
	}
	j.runs = append(j.runs, process)
	j.runs = j.runs[max(0, len(j.runs)-maxRuns):]
	data, err = json.Marshal(j.runs)
	if err != nil {
		return err
	}
	return durable.Replace(file, data)
}

// RunBy reports whether a process has written this journal, so that the journal knows
// all that it has begun.
func (j *Journal) RunBy(process string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.anyRun || slices.Contains(j.runs, process)
}

// parseRuns reads what Run has written. An error goes with no runs.
func parseRuns(data []byte) ([]string, error) {
	var runs []string
	if err := json.Unmarshal(data, &runs); err != nil {
		return nil, err
	}
	return runs, nil
}
