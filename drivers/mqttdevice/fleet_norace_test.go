//go:build !race

package mqttdevice_test

const underRace = false
