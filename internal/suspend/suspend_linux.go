package suspend

import (
	"time"

	"golang.org/x/sys/unix"
)

// Slept returns the time for which this machine has been suspended since its boot.
// CLOCK_MONOTONIC, which Go's timers use, stops during it, and CLOCK_BOOTTIME does not
// (clock_gettime(2)). It returns 0 if the kernel does not report it.
func Slept() time.Duration {
	var slept time.Duration
	for range tries {
		before, ok1 := clock(unix.CLOCK_MONOTONIC)
		boot, ok2 := clock(unix.CLOCK_BOOTTIME)
		after, ok3 := clock(unix.CLOCK_MONOTONIC)
		if !ok1 || !ok2 || !ok3 {
			return 0
		}
		slept = max(0, boot-after) // never more than it was
		if after-before < exact {
			break
		}
	}
	return slept
}

// The process may be kept from running between two looks at a clock: then it looks again.
const (
	tries = 5
	exact = time.Millisecond
)

func clock(id int32) (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(id, &t)
	return time.Duration(t.Nano()), err == nil
}
