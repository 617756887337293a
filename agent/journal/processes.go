package journal

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/messkit/messkit/internal/durable"
)

// maxProcesses limits the stored names of processes that have written the journal. All but the last
// have ended, because a journal has one writer at a time.
const maxProcesses = 64

// processesFile holds the names in an older format; maxBytes limits its size.
const (
	processesFile = "runs"
	maxBytes      = 16 << 10
)

// Run records that a process begins to write the journal. After an error the name stays in
// memory until the program ends.
func (j *Journal) Run(ctx context.Context, process string) error {
	j.mu.Lock()
	named := len(j.processes) > 0
	j.mu.Unlock()
	if named {
		return j.writeOrKeep(ctx, record{Kind: kindRun, Boot: process}, nil)
	}
	file := filepath.Join(j.dir, processesFile)
	names, none := readProcesses(file)
	j.mu.Lock()
	j.noProcessKnown = none
	j.mu.Unlock()
	var records []record
	for _, name := range append(names, process) {
		records = append(records, record{Kind: kindRun, Boot: name})
	}
	err := j.writeRecords(ctx, nil, true, records...)
	if err == nil && !none {
		return durable.SetAside(file)
	}
	return err
}

// readProcesses reads the names in the older format; none reports that the file does not exist. An
// unreadable file counts as empty, so that the agent leaves threads of unknown processes alone.
func readProcesses(file string) (names []string, none bool) {
	if !durable.There(file) {
		return nil, true
	}
	data, err := durable.Read(file, maxBytes)
	if err != nil {
		return nil, false
	}
	names, _ = parseProcesses(data)
	return names, false
}

// RunBy reports whether a process has written this journal. The journal then knows all acts
// that the process began.
func (j *Journal) RunBy(process string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.noProcessKnown || slices.Contains(j.processes, process)
}

// parseProcesses decodes the older format. With an error it returns no names.
func parseProcesses(data []byte) ([]string, error) {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}
