package drivers

import (
	"context"
	"sync"
	"time"
)

// HelpTime is how long a task waits for a person.
const HelpTime = 30 * time.Minute

// Trouble is what the task of a robot waits for a person with. The zero value is
// none, of a task that does not wait.
type Trouble struct {
	mu    sync.Mutex
	help  *HelpError
	since time.Time
	again func(context.Context) error
}

// Await is called at the beginning of a task that somebody follows: from now on its
// troubles wait for a person. again tells the device to go on with it.
func (t *Trouble) Await(again func(context.Context) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.help, t.again = nil, again
}

// Over is called at the task's end.
func (t *Trouble) Over() { t.Await(nil) }

// Meets takes in what is wrong now, nil for nothing, and whether the device is at
// its task. A trouble lasts until it is at it again: who has been freed goes on when
// it is told to. help is what is waited for; the error is that nobody waits for it,
// or not any more.
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

// Again is how the device is told to go on, nil where nothing waits for a person.
func (t *Trouble) Again() func(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.help == nil {
		return nil
	}
	return t.again
}
