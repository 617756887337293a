package capabilities_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// What measures is read when it is asked by its name what it measures, whatever its
// class; what measures nothing says so.
func TestWhatDoesItMeasure(t *testing.T) {
	on := []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}
	r := capabilities.NewResolver(capabilities.Default(), capabilities.Home{Devices: []capabilities.Device{
		{Name: "pump", Label: "pump", Class: "pump", Area: "garden", Commands: on},
		{Name: "fan", Label: "fan", Class: "fan", Area: "hall", Commands: on, Quantities: []string{}},
		{Name: "camera", Label: "camera", Class: "camera", Area: "hall", Commands: []capabilities.Command{capabilities.TakePhoto}, Quantities: []string{}},
	}})
	for intent, want := range map[string]string{
		"what does the pump measure": "read-sensor",
		"what does the pump say":     "read-sensor",
		"is the pump on":             "read-switch",
		"check the pump":             "read-switch",
	} {
		if out := r.Resolve(mess.Request{Intent: intent}); out.Plan == nil || out.Plan.Capability != want || out.Plan.Actuates() {
			t.Errorf("%q: %+v, want %s", intent, out, want)
		}
	}
	for _, it := range []string{"fan", "camera"} {
		out := r.Resolve(mess.Request{Intent: "what does the " + it + " measure"})
		if out.Refusal == nil || !strings.HasPrefix(out.Refusal.Reason, "the "+it+" measures nothing; it can ") {
			t.Errorf("%s: %+v", it, out.Refusal)
		}
	}
}
