//go:build linux

package inside_test

import (
	"errors"
	"strings"
	"testing"
)

// Lines 5 and 6 of the bridge, as bits of its levels.
const (
	opens  = 1 << 5
	closes = 1 << 6
)

// A request in plain English opens a shutter with two relays, and the test kills messkit while
// the shutter closes. By the levels of the bridge, both relays are off afterwards, and they are
// never on together.
func TestBridgeAgentMovesShutter(t *testing.T) {
	b := plug(t)
	a := launch(t, `
  kitchen-blind:
    driver: gpiocover
    chip: cp2112_gpio
    up: "5"
    down: "6"
    travel_time: 1s
    class: blind
    time_down: 4m
    overrun: 0s
`)
	if !b.isOutput(t, 5) || !b.isOutput(t, 6) || b.level(t, 5) || b.level(t, 6) {
		t.Error("the lines are no outputs that are off")
	}
	output, err := a.request(t, "open the kitchen blind")
	t.Logf("$ messkit ask \"open the kitchen blind\" --wait\n%s", output)
	if err != nil || !strings.Contains(output, "completed") || strings.Contains(output, "read back") {
		t.Errorf("open: %v", err)
	}
	if b.level(t, 5) || b.level(t, 6) {
		t.Error("a relay is on after the movement, want off")
	}
	if out, err := a.startRequest("close the kitchen blind").CombinedOutput(); err != nil { // without --wait, since the test kills the agent
		t.Fatalf("close: %v\n%s", err, out)
	}
	eventually(t, "it closes", func() error {
		if !b.level(t, 6) {
			return errors.New("it does not")
		}
		return nil
	})
	a.kill()
	eventually(t, "the relay that opens is off", off(t, b, 5))
	eventually(t, "the relay that closes is off", off(t, b, 6))
	were := map[int]bool{}
	for _, levels := range b.ask(t, "drove") {
		were[levels&(opens|closes)] = true
	}
	if !were[opens] || !were[closes] || were[opens|closes] {
		t.Errorf("the relays were %v; want each alone, and never both", were)
	}
	a.end(t) // before the bridge disappears
}
