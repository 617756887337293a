package mqttdevice

import "time"

// The test covers move in less than a second.
func init() { lookEvery = 50 * time.Millisecond }
