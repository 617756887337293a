package httpdevice

import "time"

// The test covers move in less than a second.
func init() { lookEvery = 40 * time.Millisecond }
