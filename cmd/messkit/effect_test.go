package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// What presses a button is never pressed twice for one request, whatever the
// catalogue and the configuration say.
func TestAButtonIsPressedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "messkit.yaml")
	text := `
devices:
  gate: {driver: gpiorelay, line: GPIO17, class: switch, pulse: 500ms}
  lamp: {driver: gpiorelay, line: GPIO27, class: light}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(file, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for intent, want := range map[string]capabilities.Effect{"turn on the gate": capabilities.Once, "turn on the lamp": capabilities.Idempotent} {
		plan := c.home.resolver().Resolve(mess.Request{Intent: intent}).Plan
		if plan == nil || plan.Effect != want {
			t.Errorf("%s: %+v, want the effect %s", intent, plan, want)
		}
	}
}
