package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// sentence is a text with its result in the simulated home.
type sentence struct{ text, outcome, capability, reason string }

func checkSentences(t *testing.T, list []sentence) {
	t.Helper()
	r := simulatedInterpreter(t)
	for _, c := range list {
		p := requests.PlannedOf(c.text, r.Resolve(mess.Request{Intent: c.text}))
		if p.Outcome != c.outcome || p.Capability != c.capability || !strings.Contains(p.Reason, c.reason) {
			t.Errorf("%q: %s %s: %s; want %s %s: ...%s...", c.text, p.Outcome, p.Capability, p.Reason, c.outcome, c.capability, c.reason)
		}
	}
}

// A question about a state and a statement of a state lead to a read-only plan, never to an
// action that would cause the state.
func TestStatementsAndQuestionsOnlyRead(t *testing.T) {
	checkSentences(t, []sentence{
		{"I left the garage door open", "plan", "read-sensor", "read the contact from the garage door"},
		{"I think I left the stove on", "plan", "read-switch", "look whether the stove is on"},
		{"somebody left the front door unlocked", "plan", "read-sensor", "read the lock from the front door lock"},
		{"the hall light went off", "plan", "read-switch", "look whether the hall light is on"},
		{"the garage door is open", "plan", "read-sensor", "read the contact from the garage door"},
		{"the light is on", "question", "read-switch", "which one"},
		{"garage door is open?", "plan", "read-sensor", "read the contact from the garage door"},
		{"the front door is locked?", "plan", "read-sensor", "read the lock from the front door lock"},
		{"did I lock the door and close the garage", "plan", "read-sensor", "read the lock from the front door lock, read the contact from the garage door"},
		{"did I forget to turn off the stove?", "plan", "read-switch", "look whether the stove is on"},
		{"is the stove or the kettle on", "plan", "read-switch", "look whether the stove is on, look whether the kitchen kettle is on"},
		{"are the hall light and the tv on", "plan", "read-switch", "look whether the hall light is on, look whether the living room tv is on"},
		{"is the stove off and the front door locked?", "plan", "several", "look whether the stove is on, read the lock from the front door lock"},
		{"is the garage door open or closed", "plan", "read-sensor", "read the contact from the garage door"},
		{"is everything off", "plan", "read-switch", "look whether the bathroom heater is on"},
		{"what's on", "plan", "read-switch", "look whether the living room tv is on"},
		{"which lights are on?", "plan", "read-switch", "look whether the porch light is on"},
		{"what is still on in the kitchen?", "plan", "read-switch", "look whether the stove is on"},
		{"is everything locked", "plan", "read-sensor", "read the lock from the front door lock"},
		{"is the house locked?", "plan", "read-sensor", "read the lock from the front door lock"},
		{"how many eggs are in the fridge", "plan", "check-visual", "at the fridge"},
		{"do we need milk", "plan", "check-visual", "look for milk at the fridge"},
		{"are we out of milk?", "plan", "check-visual", "look for milk at the fridge"},
		{"do we have eggs", "plan", "check-visual", "at the fridge"},
		{"turn off everything", "refusal", "switch-off", "name a kind of device"},
		{"leave the garage door open", "refusal", "", ""},
	})
}

// A simple order stops a device. The planner asks if the order may stop something else, and
// rejects a sentence that only mentions a stop.
func TestSimpleOrderStopsDevice(t *testing.T) {
	checkSentences(t, []sentence{
		{"make the vacuum stop", "plan", "stop-vacuum", "stop the vacuum"},
		{"tell the vacuum to stop", "plan", "stop-vacuum", "stop the vacuum"},
		{"vacuum stop", "plan", "stop-vacuum", "stop the vacuum"},
		{"stop vacuuming the kitchen", "plan", "stop-vacuum", "stop the vacuum"},
		{"cancel the vacuum", "plan", "stop-vacuum", "stop the vacuum"},
		{"stop printing", "plan", "print-cancel", "cancel the print"},
		{"stop printing the vase", "question", "print-cancel", "another print may be running"},
		{"stop the pump", "plan", "switch-off", "turn off the garden pump"},
		{"stop making coffee", "plan", "switch-off", "turn off the coffee machine"},
		{"stop heating the bathroom", "plan", "switch-off", "turn off the bathroom heater"},
		{"garage door stop", "plan", "stop-opening", "stop the garage door"},
		{"rover stop", "refusal", "switch-off", "the stop button of the console"},
		{"stop it", "refusal", "", "to stop one device, name it"},
		{"don't stop the vacuum", "refusal", "", "excludes something"},
		{"turn off the stove as soon as possible", "plan", "switch-off", "turn off the stove"},
	})
}
