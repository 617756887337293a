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
	mu     sync.Mutex
	at     time.Time // zero: there is none
	gaveUp bool      // the broker has not confirmed one since the last that the device has obeyed
}

func (u *unseen) add(now time.Time) { u.mu.Lock(); defer u.mu.Unlock(); u.at = now }

// giveUp notes one that the broker has not confirmed, and whose connection was closed. It
// may arrive after what the next connection sends.
func (u *unseen) giveUp(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at, u.gaveUp = now, true
}

// none notes that the device has obeyed the last order. An order before it that was given
// up may arrive yet: that is an error, once.
func (u *unseen) none(now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := error(nil)
	if u.gaveUp {
		err = u.late(now)
	}
	u.at, u.gaveUp = time.Time{}, false
	return err
}

// doubt is why the device may do yet what it was told, nil if it may not.
func (u *unseen) doubt(now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.late(now)
}

// late is doubt. mu is held.
func (u *unseen) late(now time.Time) error {
	if u.at.IsZero() || now.Sub(u.at) > drivers.LateTime {
		return nil
	}
	return fmt.Errorf("it took this, and has never said that it did what it was told before: %w", drivers.ErrMayAct)
}
