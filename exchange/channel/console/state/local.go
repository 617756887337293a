package state

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"
)

// localAge is the age until which a reading of the local executor serves all pages.
const localAge = 400 * time.Millisecond

// Reading is a state of the local executor. Nothing changes it.
type Reading struct {
	data  []byte // JSON
	plain []byte // data without times
}

// Local reads the local executor for all pages together. It is safe for concurrent use.
type Local struct {
	source func() any

	mu      sync.Mutex
	at      time.Time // of the last reading; zero: the next Read reads again
	last    *Reading
	changed chan struct{}
}

// NewLocal returns the readings of an executor. source returns its state as a value for JSON.
func NewLocal(source func() any) *Local {
	return &Local{source: source, changed: make(chan struct{})}
}

// Read returns the state, which may be 0.4 seconds old. It returns the same Reading while nothing
// changes. changed closes at the next call of Changed. The error is that of json.Marshal.
func (l *Local) Read() (r *Reading, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < localAge {
		return l.last, l.changed, nil
	}
	data, err := json.Marshal(l.source())
	if err != nil {
		return nil, l.changed, err
	}
	l.at = time.Now()
	if l.last == nil || !bytes.Equal(data, l.last.data) {
		l.last = &Reading{data, withoutTimes(data)}
	}
	return l.last, l.changed, nil
}

// Changed says that somebody has changed the executor by a page: all pages read it again.
func (l *Local) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
	close(l.changed)
	l.changed = make(chan struct{})
}

// withoutTimes removes the times of readings from JSON.
func withoutTimes(data []byte) []byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	removeTimes(v)
	plain, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return plain
}

func removeTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "as_of")
		for _, one := range v {
			removeTimes(one)
		}
	case []any:
		for _, one := range v {
			removeTimes(one)
		}
	}
}
