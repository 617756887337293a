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

// tries are the threads at whose words the program looks now, and how often it
// has died of each: of those there is no intent yet. They are written and not
// synced, as what a program has written stays when it dies; a power cut is no
// thread's fault.
type tries struct {
	file    *os.File      // nil: they are not kept
	suspect chan struct{} // held by the one thread that is tried though the program has died of it

	mu   sync.Mutex
	now  map[string]bool
	died map[string]int
}

// triesFile lies beside the segments. It has one size always, so that it is
// written at once.
const (
	triesFile = "tries"
	triesSize = 8 << 10 // bytes
	maxTries  = 64      // threads; a ref is shorter than 100 bytes
)

// try is a thread in the file.
type try struct {
	Ref  string `json:"ref"`
	Now  bool   `json:"now,omitempty"`  // it was looked at when this was written
	Died int    `json:"died,omitempty"` // before that
}

// openTries reads what an earlier run has left. Where that cannot be had nothing
// is counted.
func openTries(dir string) *tries {
	t := &tries{suspect: make(chan struct{}, 1), now: map[string]bool{}, died: map[string]int{}}
	f, err := durable.Open(filepath.Join(dir, triesFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return t
	}
	t.file = f
	data, err := io.ReadAll(io.LimitReader(f, triesSize))
	if err != nil {
		return t
	}
	list, _ := parseTries(data) // what is damaged is forgotten
	for _, one := range list {
		if one.Now {
			one.Died++
		}
		t.died[one.Ref] = one.Died
	}
	t.write()
	return t
}

// parseTries reads what print has made. An error goes with no tries.
func parseTries(data []byte) ([]try, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	var list []try
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.Ref == "" || one.Died < 0 {
			return nil, errors.New("a thread without a name, or less than none")
		}
	}
	return list, nil
}

// Died is how often the program has died while it looked at the words of a
// thread.
func (j *Journal) Died(ref string) int {
	j.tries.mu.Lock()
	defer j.tries.mu.Unlock()
	return j.tries.died[ref]
}

// Try notes that the words of a thread are looked at, until done is called. Of
// those of which the program may have died one is looked at at a time, so that
// it is known which it was.
func (j *Journal) Try(ctx context.Context, ref string) (done func(), err error) {
	t := j.tries
	suspect := j.Died(ref) > 0
	if suspect {
		select {
		case t.suspect <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now[ref] = true
	t.write()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.now, ref)
		delete(t.died, ref)
		t.write()
		if suspect {
			<-t.suspect
		}
	}, nil
}

// write writes the file; what does not fit is not counted. mu is held.
func (t *tries) write() {
	if t.file == nil {
		return
	}
	refs := maps.Clone(t.now)
	for ref := range t.died {
		refs[ref] = true
	}
	list := []try{}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if len(list) < maxTries {
			list = append(list, try{ref, t.now[ref], t.died[ref]})
		}
	}
	data, err := json.Marshal(list)
	if err != nil || len(data) > triesSize {
		return
	}
	_, _ = t.file.WriteAt(fmt.Appendf(data, "%*s", triesSize-len(data), "\n"), 0) // it is a help, and no more
}

func (t *tries) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}
