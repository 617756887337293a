//go:build race

package mqttdevice_test

// underRace: the race detector takes memory and time of its own.
const underRace = true
