package resources

import (
	"math"

	"golang.org/x/sys/unix"
)

// files returns the limit of open files, or 0 if the system does not report it. Go has raised it
// to the hard limit when the program started.
func files() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(uint64(r.Cur), math.MaxInt32))
}

// cpu returns the processor time of the process in seconds, or 0 if the system does not report
// it.
func cpu() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
