package sim_test

import (
	"testing"

	"github.com/messkit/messkit/drivers"
)

// A sensor follows the line that it looks at, and a meter its own.
func TestSensorsFollowTheHome(t *testing.T) {
	var shared drivers.Shared
	start := func(kind, config string) drivers.Device {
		t.Helper()
		d, err := open(&shared, kind, config)
		if err == nil {
			err = d.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Halt() })
		return d
	}
	room := start("sim-sensor", "reads: [{quantity: temperature, value: 19, unit: °C, line: heater, on: 24}, {quantity: contact, value: 1}]")
	plug := start("sim-meter", "{line: heater, watts: 800}")
	reads := func(d drivers.Device, want ...float64) {
		t.Helper()
		list, err := d.(drivers.Sensor).Read(t.Context())
		if err != nil || len(list) != len(want) {
			t.Fatalf("%s reads %v, %v", d.Name(), list, err)
		}
		for i, r := range list {
			if r.Value != want[i] || r.At.IsZero() {
				t.Errorf("%s reads %+v, want %v", d.Name(), r, want[i])
			}
		}
	}
	reads(room, 19, 1)
	reads(plug, 0)
	if err := plug.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	reads(room, 24, 1)
	reads(plug, 800)
}
