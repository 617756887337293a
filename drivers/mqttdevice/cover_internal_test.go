package mqttdevice

import "time"

// The covers of the tests need a second for no way.
func init() { lookEvery = 50 * time.Millisecond }
