package sim_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
)

// A sensor follows its line, and a meter its relay.
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
	changed := room.(drivers.Notifier).Changes()
	if err := plug.(drivers.Switch).Switch(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	<-changed
}

// An appliance works for its duration, and then uses little power.
func TestApplianceFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared drivers.Shared
		d, err := open(&shared, "sim-appliance", "{watts: 900, standby: 2, runs: 1m}")
		if err == nil {
			err = d.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		takes := func(want float64) {
			t.Helper()
			list, err := d.(drivers.Sensor).Read(t.Context())
			if err != nil || len(list) != 1 || list[0].Value != want || list[0].Unit != "W" {
				t.Errorf("%+v, %v; want %v W", list, err, want)
			}
		}
		turn := func(on bool) {
			t.Helper()
			if err := d.(drivers.Switch).Switch(t.Context(), on); err != nil {
				t.Fatal(err)
			}
		}
		takes(0)
		turn(true)
		time.Sleep(59 * time.Second)
		turn(true) // a second command changes nothing
		takes(900)
		time.Sleep(time.Second)
		takes(2)
		turn(false)
		takes(0)
		turn(true)
		takes(900)
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
	})
	for _, config := range []string{"runs: -1s", "standby: -1", "watts: .nan"} {
		if _, err := open(&drivers.Shared{}, "sim-appliance", config); err == nil {
			t.Errorf("%s is taken", config)
		}
	}
}
