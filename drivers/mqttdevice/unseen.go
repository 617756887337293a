package mqttdevice

import (
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
)

// unseen records the last command that the device has not confirmed. The retained state is
// older than the command and no evidence for it: a device that is offline for a moment
// receives this command and the next one when it returns.
type unseen struct {
	mu     sync.Mutex
	at     time.Time // zero if there is none
	gaveUp bool      // an unacknowledged command since the last confirmation
}

func (u *unseen) add(now time.Time) { u.mu.Lock(); defer u.mu.Unlock(); u.at = now }

// giveUp records a command without an acknowledgment whose connection has closed. It may
// arrive after the commands of the next connection.
func (u *unseen) giveUp(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at, u.gaveUp = now, true
}

// confirmed records that the device has confirmed the last command. It returns an error, once,
// if an earlier unacknowledged command may still arrive.
func (u *unseen) confirmed(now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := error(nil)
	if u.gaveUp {
		err = u.late(now)
	}
	u.at, u.gaveUp = time.Time{}, false
	return err
}

// doubt returns an error if the device may still execute an earlier command.
func (u *unseen) doubt(now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.late(now)
}

// late implements doubt. The caller holds mu.
func (u *unseen) late(now time.Time) error {
	if u.at.IsZero() || now.Sub(u.at) > drivers.LateEffectTime {
		return nil
	}
	return fmt.Errorf("the device has accepted this command, and has never confirmed an earlier one: %w", drivers.ErrMayAct)
}
