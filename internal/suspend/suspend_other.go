//go:build !linux

package suspend

import "time"

// Slept is not known here.
func Slept() time.Duration { return 0 }
