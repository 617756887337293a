package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// In a home with a garage door, "garage" is that door, and the interpreter asks before it
// moves. A name of a device stays a name, even if a stop word is in it.
func TestDeviceNamesWinOverStopWords(t *testing.T) {
	cover := []capabilities.Command{capabilities.Open, capabilities.Close, capabilities.OpenTo, capabilities.Stop, capabilities.ReadState}
	r := interpret.New(catalog.Default(), capabilities.Home{Devices: []capabilities.Device{
		{Name: "garage-door", Label: "garage door", Class: "garage-door", Area: "garage", Commands: cover},
		{Name: "vacuum", Label: "vacuum", Class: "vacuum", Aliases: []string{"robot"}, Area: "hall", Commands: []capabilities.Command{capabilities.Clean, capabilities.Stop, capabilities.Dock}},
	}})
	for intent, want := range map[string]string{
		"open the garage":                "? the text names a place and no device: shall I open the garage door",
		"close the garage":               "? the text names a place and no device: shall I close the garage door",
		"is the garage open?":            "read the contact from the garage door",
		"did I leave the garage open?":   "read the contact from the garage door",
		"did I close the garage?":        "read the contact from the garage door",
		"lower the garage door a little": "the device may be open further or less far now",
		"open the hall":                  "no: nothing in the hall can open",
		"stop the robot":                 "stop the vacuum",
		"robot stop":                     "stop the vacuum",
		"stop":                           " is no request",
		"stop everything now":            " is no request",
	} {
		if got := describe(r.Resolve(mess.Request{Intent: intent})); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", intent, got, want)
		}
	}
}
