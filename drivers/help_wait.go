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

// Begin begins a task that waits for a person on a problem. resume is the command that lets
// the device continue.
func (w *HelpWait) Begin(resume func(context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.help, w.resume = nil, resume
}

// End ends the task.
func (w *HelpWait) End() { w.Begin(nil) }

// Update records the present problem, or nil, and whether the device works on its task. A
// problem lasts until the device works again, because a freed robot still needs a command
// to continue. Update returns the problem that the task waits for. It returns the problem as
// an error if the task does not wait, or has waited longer than HelpTimeout.
func (w *HelpWait) Update(now time.Time, problem *HelpError, working bool) (help *HelpError, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case problem != nil && w.resume == nil:
		return nil, problem
	case problem != nil && w.help == nil:
		w.help, w.since = problem, now
	case problem != nil:
		w.help = problem
	case working:
		w.help = nil
	}
	if w.help != nil && now.Sub(w.since) > HelpTimeout {
		return nil, w.help
	}
	return w.help, nil
}

// ResumeCommand returns the command that lets the device continue, or nil if the task does
// not wait for a person.
func (w *HelpWait) ResumeCommand() func(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.help == nil {
		return nil
	}
	return w.resume
}
