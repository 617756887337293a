package drivers

import (
	"context"
	"sync"
	"time"
)

// HelpTimeout is the longest time that a task waits for a person.
const HelpTimeout = 30 * time.Minute

// HelpWait tracks the problem for which the task of a robot waits for a person. The zero
// value belongs to a task that does not wait. It is safe for concurrent use.
type HelpWait struct {
	mu     sync.Mutex
	help   *HelpError
	since  time.Time
	resume func(context.Context) error
}

// Begin begins a task that waits for a person on a problem. again is the command that lets
// the device continue.
func (t *HelpWait) Begin(again func(context.Context) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.help, t.resume = nil, again
}

// End ends the task.
func (t *HelpWait) End() { t.Begin(nil) }

// Update records the present problem, or nil, and whether the device works on its task. A
// problem lasts until the device works again, because a freed robot still needs a command
// to continue. Update returns the problem that the task waits for. It returns the problem as
// an error if the task does not wait, or has waited longer than HelpTimeout.
func (t *HelpWait) Update(now time.Time, wrong *HelpError, atIt bool) (help *HelpError, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case wrong != nil && t.resume == nil:
		return nil, wrong
	case wrong != nil && t.help == nil:
		t.help, t.since = wrong, now
	case wrong != nil:
		t.help = wrong
	case atIt:
		t.help = nil
	}
	if t.help != nil && now.Sub(t.since) > HelpTimeout {
		return nil, t.help
	}
	return t.help, nil
}

// ResumeCommand returns the command that lets the device continue, or nil if the task does
// not wait for a person.
func (t *HelpWait) ResumeCommand() func(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.help == nil {
		return nil
	}
	return t.resume
}
