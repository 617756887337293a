// Package clock tells whether this machine's clock is known to be set. A board
// without a clock boots in the past, and goes on as if nothing were.
package clock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Signs are where a machine shows that its clock was set.
type Signs struct {
	Now func() time.Time
	// Synced reports whether the kernel believes that its clock is kept right
	// (adjtimex(2), STA_UNSYNC).
	Synced func() (bool, error)
	Root   fs.FS // the file system, from /
}

// Here are the signs of this machine.
func Here() Signs { return Signs{time.Now, synced, os.DirFS("/")} }

// oldest is before this program was made: no set clock says less.
var oldest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Unset is why the clock is not known to be set, nil if it is.
func (s Signs) Unset() error {
	now := s.Now()
	if now.Before(oldest) {
		return fmt.Errorf("this machine believes that it is %s", now.Format(time.DateOnly))
	}
	if ok, err := s.Synced(); err == nil && ok {
		return nil
	}
	// systemd-timesyncd makes this when it has first heard a server; it is gone
	// after a boot (systemd-timesyncd.service(8)).
	if _, err := fs.Stat(s.Root, "run/systemd/timesync/synchronized"); err == nil {
		return nil
	}
	// A clock with a battery, from which the kernel has set its own at boot
	// (Documentation/ABI/testing/sysfs-class-rtc).
	if text, err := fs.ReadFile(s.Root, "sys/class/rtc/rtc0/hctosys"); err == nil && strings.TrimSpace(string(text)) == "1" {
		return nil
	}
	return errors.New("this machine has heard of no time server since it was started, and has no clock with a battery (agent: clock: trusted says that it is set by other means, such as chrony under a service that may not ask the kernel)")
}
