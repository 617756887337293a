//go:build race

package mqttdevice_test

// underRace reports that the race detector needs extra memory and time.
const underRace = true
