package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/messkit/messkit/internal/durable"
)

// crashCounts records the threads whose messages the program interprets now, and how often it has
// died during each; these have no intent yet. It writes the file without a sync: the file
// survives the death of the program, and no thread causes a power cut.
type crashCounts struct {
	file    *os.File      // nil: they are in memory alone
	suspect chan struct{} // the one thread that runs again after a crash holds this

	mu      sync.Mutex
	current map[string]bool
	crashes map[string]int
}

// crashFile is in the folder of the segments. Its size is fixed, so that one write replaces all
// of it.
const (
	crashFile      = "tries"
	crashFileSize  = 8 << 10 // bytes
	maxCrashCounts = 64      // threads; a ref is shorter than 100 bytes
)

// crashCount is a thread in the file.
type crashCount struct {
	Ref  string `json:"ref"`
	Now  bool   `json:"now,omitempty"`  // the program was interpreting it at that time
	Died int    `json:"died,omitempty"` // number of earlier crashes
}

// openCrashCounts reads the file of the earlier run. Without a readable file it counts from zero.
func openCrashCounts(dir string) *crashCounts {
	t := &crashCounts{suspect: make(chan struct{}, 1), current: map[string]bool{}, crashes: map[string]int{}}
	f, err := durable.Open(filepath.Join(dir, crashFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return t
	}
	t.file = f
	data, err := io.ReadAll(io.LimitReader(f, crashFileSize))
	if err != nil {
		return t
	}
	list, _ := parseCrashCounts(data) // a damaged file counts as empty
	for _, one := range list {
		if one.Now {
			one.Died++
		}
		t.crashes[one.Ref] = one.Died
	}
	t.write()
	return t
}

// parseCrashCounts decodes the file. With an error it returns no counts.
func parseCrashCounts(data []byte) ([]crashCount, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	var list []crashCount
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.Ref == "" || one.Died < 0 {
			return nil, errors.New("an entry has no ref, or a negative count")
		}
	}
	return list, nil
}

// CrashCount returns how often the program has died while it interpreted the messages of a thread.
func (j *Journal) CrashCount(ref string) int {
	j.crashCounts.mu.Lock()
	defer j.crashCounts.mu.Unlock()
	return j.crashCounts.crashes[ref]
}

// TrackInterpretation records that the program interprets the messages of a thread, until the caller calls
// done. Threads with earlier crashes run one at a time, so that a crash identifies its thread.
func (j *Journal) TrackInterpretation(ctx context.Context, ref string) (done func(), err error) {
	t := j.crashCounts
	suspect := j.CrashCount(ref) > 0
	if suspect {
		select {
		case t.suspect <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current[ref] = true
	t.write()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.current, ref)
		delete(t.crashes, ref)
		t.write()
		if suspect {
			<-t.suspect
		}
	}, nil
}

// write writes the file. It drops entries that exceed its size: first those of threads that the
// program does not interpret now, and the oldest first. The caller holds mu.
func (t *crashCounts) write() {
	if t.file == nil {
		return
	}
	earlier := maps.Clone(t.crashes)
	maps.DeleteFunc(earlier, func(ref string, _ int) bool { return t.current[ref] })
	refs := slices.Concat(newestFirst(t.current), newestFirst(earlier))
	data := []byte("[")
	for _, ref := range refs[:min(len(refs), maxCrashCounts)] {
		one, err := json.Marshal(crashCount{ref, t.current[ref], t.crashes[ref]})
		if err != nil || len(data)+len(one)+len(",]\n") > crashFileSize {
			continue
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		data = append(data, one...)
	}
	data = append(data, ']')
	_, _ = t.file.WriteAt(fmt.Appendf(data, "%*s", crashFileSize-len(data), "\n"), 0) // the file only helps after a crash
}

// newestFirst returns the refs of threads, the newest first: a ref begins with its day.
func newestFirst[V any](threads map[string]V) []string {
	refs := slices.Sorted(maps.Keys(threads))
	slices.Reverse(refs)
	return refs
}

func (t *crashCounts) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}
