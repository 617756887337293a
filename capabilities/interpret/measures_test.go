package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// A named device that measures gives its values, even if its class is no sensor. A device that
// measures nothing says so.
func TestNamedSensorIsRead(t *testing.T) {
	on := []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}
	r := interpret.New(catalog.Default(), capabilities.Home{Devices: []capabilities.Device{
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

// Every quantity of a driver has a question by its name and by its subject.
func TestEveryQuantityHasAQuestion(t *testing.T) {
	device := func(name, class string, quantities ...string) capabilities.Device {
		return capabilities.Device{Name: name, Label: name, Class: class, Area: "study", Commands: []capabilities.Command{capabilities.ReadState}, Quantities: quantities}
	}
	r := interpret.New(catalog.Default(), capabilities.Home{Devices: []capabilities.Device{
		device("climate", "sensor", "temperature", "humidity", "pressure", "illuminance", "water leak"),
		device("desk plug", "plug", "power", "energy", "voltage"),
		device("printer", "printer", "nozzle temperature", "bed temperature"),
	}})
	for intent, want := range map[string]string{
		"what's the air pressure?":                        "pressure",
		"what is the pressure in the study?":              "pressure",
		"what's the light level?":                         "illuminance",
		"is there a water leak?":                          "water leak",
		"what's the voltage at the desk plug?":            "voltage",
		"what is the energy of the desk plug?":            "energy",
		"how many kilowatt hours has the desk plug used?": "energy",
		"how much power does the desk plug use?":          "power",
		"how hot is the nozzle?":                          "nozzle temperature",
		"what's the bed temperature of the printer?":      "bed temperature",
		"how warm is the print bed?":                      "bed temperature",
	} {
		out := r.Resolve(mess.Request{Intent: intent})
		if out.Plan == nil || out.Plan.Actuates() {
			t.Errorf("%q: %+v", intent, out.Refusal)
			continue
		}
		if got, _ := out.Plan.Args.Get("quantity"); got != want {
			t.Errorf("%q: %v, want %s", intent, got, want)
		}
	}
}
