package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// A blind goes up and down with the usual words. A report about it moves nothing.
func TestBlindOrdersAndReports(t *testing.T) {
	h := exampleHome()
	h.Devices = append(h.Devices, capabilities.Device{Name: "bedroom-blind", Class: "blind", Area: "bedroom", Commands: []capabilities.Command{capabilities.Open, capabilities.Close}})
	r := interpret.New(catalog.Default(), h)
	for intent, want := range map[string]string{
		"blinds down":                       "close bedroom-blind",
		"bring the blinds down":             "close bedroom-blind",
		"lower the bedroom blind":           "close bedroom-blind",
		"put the blinds up":                 "open bedroom-blind",
		"raise the curtains in the bedroom": "open bedroom-blind",
		"don't put the blinds up":           "no: ",
		"turn on the blinds":                "no: ",
		"blinds up and down":                "no: ",
	} {
		if o := r.Resolve(ask(intent)); !strings.HasPrefix(got(o), want) {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
}
