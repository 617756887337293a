// Package suspend measures how long this machine was asleep. Times that people or devices
// depend on go on meanwhile.
package suspend

import "time"

// Least is the shortest sleep that counts. A shorter difference may be the time between two
// readings of the clocks.
const Least = 50 * time.Millisecond

// Watch notices each sleep of the machine once.
type Watch struct {
	Slept func() time.Duration // since boot, as Slept says
	seen  time.Duration
}

// NewWatch makes a watch that counts from now on; a nil slept means Slept.
func NewWatch(slept func() time.Duration) *Watch {
	if slept == nil {
		slept = Slept
	}
	return &Watch{slept, slept()}
}

// Resumed is how long the machine has slept since the last call; 0 if it has not.
func (w *Watch) Resumed() time.Duration {
	slept := w.Slept()
	d := slept - w.seen
	if d < Least {
		return 0
	}
	w.seen = slept
	return d
}
