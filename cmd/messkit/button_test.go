package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/mess"
)

// The agent presses a button at most once per request, for any content of the catalog and of the
// configuration.
func TestButtonIsPressedAtMostOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "messkit.yaml")
	text := `
devices:
  gate: {driver: gpiorelay, line: GPIO17, class: switch, pulse: 500ms}
  lamp: {driver: gpiorelay, line: GPIO27, class: light}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := daemon.LoadConfig(file, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	for intent, want := range map[string]capabilities.Effect{"turn on the gate": capabilities.Once, "turn on the lamp": capabilities.Idempotent} {
		plan := c.Opened.Resolver().Resolve(mess.Request{Intent: intent}).Plan
		if plan == nil || plan.Effect != want {
			t.Errorf("%s: %+v, want the effect %s", intent, plan, want)
		}
	}
}

// The plans and errors for a pulse device name a press. Such a device takes no duration, and is
// no door that opens.
func TestButtonPlansNameAPress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "messkit.yaml")
	text := `
devices:
  garage: {driver: gpiorelay, line: GPIO17, class: switch, pulse: 500ms}
  gate: {driver: gpiorelay, line: GPIO27, class: button, pulse: 500ms}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := daemon.LoadConfig(file, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	for intent, want := range map[string]string{
		"turn on the garage":                 "press the garage: the garage will be pressed and released, and what that sets off will be done",
		"turn off the garage":                "turn off the garage: the garage will be off",
		"turn on the garage for ten minutes": "press the garage for 10 minutes is not possible: messkit presses and releases the garage at once, and it does not stay on; leave the time out",
		"pulse the garage for two seconds":   "press the garage for 2 seconds is not possible: messkit presses and releases the garage at once, and it does not stay on; leave the time out",
		"press the gate":                     "activate the gate: everything that the gate stands for will be done",
		"open the gate":                      "a button cannot open a door, blind or valve; the gate can activate a scene, run a script or press a button",
		"open the garage door":               "there is no garage door here",
	} {
		out := c.Opened.Resolver().Resolve(mess.Request{Intent: intent})
		got := ""
		switch {
		case out.Plan != nil:
			got = out.Plan.Summary + ": " + out.Plan.Consequences
		case out.Refusal != nil:
			got = out.Refusal.Reason
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", intent, got, want)
		}
	}
}
