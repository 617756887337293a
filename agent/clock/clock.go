// Package clock checks whether this machine's clock is set. A board without a battery clock
// boots with a time in the past.
package clock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Signs are the sources that show whether a clock is set.
type Signs struct {
	Now func() time.Time
	// Synced reports whether the kernel considers its clock synchronized (adjtimex(2),
	// STA_UNSYNC).
	Synced func() (bool, error)
	Root   fs.FS // the root of the file system
}

// Here returns the signs of this machine.
func Here() Signs { return Signs{time.Now, synced, os.DirFS("/")} }

// oldest is a time before the first release of this program: a set clock is later.
var oldest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Unset returns why the clock may not be set, nil if it is set.
func (s Signs) Unset() error {
	now := s.Now()
	if now.Before(oldest) {
		return fmt.Errorf("this machine believes that it is %s", now.Format(time.DateOnly))
	}
	if ok, err := s.Synced(); err == nil && ok {
		return nil
	}
	// systemd-timesyncd creates this file after its first answer from a server; a boot removes
	// it (systemd-timesyncd.service(8)).
	if _, err := fs.Stat(s.Root, "run/systemd/timesync/synchronized"); err == nil {
		return nil
	}
	// The kernel has set its clock from a battery clock at boot
	// (Documentation/ABI/testing/sysfs-class-rtc).
	if text, err := fs.ReadFile(s.Root, "sys/class/rtc/rtc0/hctosys"); err == nil && strings.TrimSpace(string(text)) == "1" {
		return nil
	}
	return errors.New("no time server has answered since this machine started, and it has no battery clock; if another program sets the clock, such as chrony in a service that may not ask the kernel, set agent: clock: trusted")
}
