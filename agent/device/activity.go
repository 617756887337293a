package device

import (
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Activity records what the devices do for this executor, and for how long they did it. It is
// safe for concurrent use.
type Activity struct {
	most    int                 // limit of wait conditions at the same time
	changed func(device string) // called after a change of a device's activity; set before the first use

	mu        sync.Mutex
	commands  map[string]capabilities.Command // the running command of each device
	paused    map[string]bool                 // devices in a pause
	durations map[string]time.Duration        // by device and command
	watching  int                             // number of running wait conditions
}

// NewActivity returns an activity with a limit of wait conditions at the same time.
func NewActivity(most int) *Activity {
	return &Activity{most: most, changed: func(string) {}, commands: map[string]capabilities.Command{}, paused: map[string]bool{}, durations: map[string]time.Duration{}}
}

// activityNames names the states of moving devices by their command.
var activityNames = map[capabilities.Command]string{
	capabilities.Clean: "cleaning", capabilities.CleanSpot: "cleaning", capabilities.Dock: "returning",
	capabilities.Open: "opening", capabilities.Close: "closing", capabilities.OpenTo: "opening", capabilities.Lock: "locking", capabilities.Unlock: "unlocking",
}

// Of returns the activity of a device in words, "" for none that lasts.
func (a *Activity) Of(device string) (is string, paused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return activityNames[a.commands[device]], a.paused[device]
}

// Begin records the command of a device until the caller calls done with the result. A pause
// keeps the paused activity.
func (a *Activity) Begin(p capabilities.Plan) (done func(error)) {
	_, lasts := activityNames[p.Command]
	a.set(p, func() {
		if lasts {
			a.commands[p.Device] = p.Command
			delete(a.paused, p.Device)
		}
	})
	return func(err error) {
		a.set(p, func() {
			switch {
			case lasts && a.commands[p.Device] == p.Command:
				delete(a.commands, p.Device)
				delete(a.paused, p.Device)
			case p.Command == capabilities.Pause && err == nil && a.commands[p.Device] != "":
				a.paused[p.Device] = true
			case p.Command == capabilities.Resume && err == nil:
				delete(a.paused, p.Device)
			}
		})
	}
}

func (a *Activity) set(p capabilities.Plan, change func()) {
	a.mu.Lock()
	change()
	a.mu.Unlock()
	if p.Actuates() {
		a.changed(p.Device)
	}
}

// CheckWaitLimit returns why there can be no more wait conditions, nil if there can.
func (a *Activity) CheckWaitLimit() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watching >= a.most {
		return fmt.Errorf("the agent already watches %d things, which is its limit (agent: watch: at_once); cancel one, or ask again later", a.watching)
	}
	return nil
}

// BeginWait counts a wait condition until the caller calls done.
func (a *Activity) BeginWait() (done func()) {
	count := func(n int) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watching += n
	}
	count(1)
	return func() { count(-1) }
}

// estimates holds the first estimate of each command.
var estimates = map[capabilities.Command]time.Duration{
	capabilities.Clean: 20 * time.Minute,
	capabilities.Dock:  3 * time.Minute,
	capabilities.Print: 3 * time.Hour,
}

// Estimate returns how long a plan may take: its last duration, or the first estimate.
func (a *Activity) Estimate(p capabilities.Plan) time.Duration {
	if len(p.Steps) > 0 {
		var all time.Duration
		for _, step := range p.Steps {
			all += step.After + a.Estimate(step)
		}
		return all
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.Command.IsWait() {
		return p.For
	}
	if took, ok := a.durations[p.Device+" "+string(p.Command)]; ok {
		return max(time.Second, took.Round(time.Second))
	}
	if d, ok := estimates[p.Command]; ok {
		return d
	}
	return 5 * time.Second
}

// Learn records how long a plan took.
func (a *Activity) Learn(p capabilities.Plan, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.durations[p.Device+" "+string(p.Command)] = took
}
