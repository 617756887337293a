//go:build !linux

package suspend

import "time"

// Slept returns 0: this system does not report it.
func Slept() time.Duration { return 0 }
