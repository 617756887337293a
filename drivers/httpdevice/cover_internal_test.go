package httpdevice

import "time"

// The covers of the tests need a second for no way.
func init() { lookEvery = 40 * time.Millisecond }
