package drivers

import (
	"context"
	"sync"
	"time"
)

// HelpTime is the longest time that a task waits for a person.
const HelpTime = 30 * time.Minute

// Trouble tracks the problem for which the task of a robot waits for a person. The zero
// value belongs to a task that does not wait. It is safe for concurrent use.
type Trouble struct {
	mu    sync.Mutex
	help  *HelpError
	since time.Time
	again func(context.Context) error
}

// Await begins a task that waits for a person on a problem. again is the command that lets
// the device continue.
func (t *Trouble) Await(again func(context.Context) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.help, t.again = nil, again
}

// Over ends the task.
func (t *Trouble) Over() { t.Await(nil) }

// Meets records the present problem, or nil, and whether the device works on its task. A
// problem lasts until the device works again, because a freed robot still needs a command
// to continue. Meets returns the problem that the task waits for. It returns the problem as
// an error if the task does not wait, or has waited longer than HelpTime.
func (t *Trouble) Meets(now time.Time, wrong *HelpError, atIt bool) (help *HelpError, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case wrong != nil && t.again == nil:
		return nil, wrong
	case wrong != nil && t.help == nil:
		t.help, t.since = wrong, now
	case wrong != nil:
		t.help = wrong
	case atIt:
		t.help = nil
	}
	if t.help != nil && now.Sub(t.since) > HelpTime {
		return nil, t.help
	}
	return t.help, nil
}

// Again returns the command that lets the device continue, or nil if the task does not wait
// for a person.
func (t *Trouble) Again() func(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.help == nil {
		return nil
	}
	return t.again
}
