package mqttdevice

import (
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
)

// unseen is the last order that a device was sent, and has not said that it obeyed. What
// its broker keeps is from before, and proves nothing of it: a device that is away for a
// moment hears both that order and the next one when it is back.
type unseen struct {
	mu sync.Mutex
	at time.Time // zero: there is none
}

// doubtTime is how long it may be done yet, as for what is told over HTTP.
const doubtTime = time.Minute

func (u *unseen) add(now time.Time) { u.mu.Lock(); defer u.mu.Unlock(); u.at = now }

func (u *unseen) none() { u.mu.Lock(); defer u.mu.Unlock(); u.at = time.Time{} }

// doubt is why the device may do yet what it was told, nil if it may not.
func (u *unseen) doubt(now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at.IsZero() || now.Sub(u.at) > doubtTime {
		return nil
	}
	return fmt.Errorf("it took this, and has never said that it did what it was told before: %w", drivers.ErrMayAct)
}
