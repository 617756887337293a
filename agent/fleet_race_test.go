//go:build race

package agent_test

// underRace: the race detector takes memory and time of its own.
const underRace = true
