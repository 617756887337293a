package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim"
)

// initial and safe set the level of the line after Start and after Halt.
func TestInitialAndSafe(t *testing.T) {
	for _, c := range []struct {
		config                     string
		before, afterStart, inHalt bool
	}{
		{"", true, false, false},
		{"{initial: 'on', safe: keep}", false, true, true},
		{"{initial: keep, safe: 'on'}", true, true, true},
		{"{initial: keep, safe: 'off'}", false, false, false},
		{"{initial: keep, safe: 'on'}", false, false, true},
	} {
		var shared drivers.Shared
		w := worldOf(t, &shared)
		w.SetLine(sim.PorchLamp, c.before)
		lamp := started(t, &shared, "sim-lamp", c.config)
		if got := w.Line(sim.PorchLamp); got != c.afterStart {
			t.Errorf("%q after Start: on=%t", c.config, got)
		}
		if err := lamp.Halt(); err != nil {
			t.Error(err)
		}
		if got := w.Line(sim.PorchLamp); got != c.inHalt {
			t.Errorf("%q after Halt: on=%t", c.config, got)
		}
	}
}

// The log contains the device of each change, or "hand".
func TestLog(t *testing.T) {
	var shared drivers.Shared
	w := worldOf(t, &shared)
	lamp := started(t, &shared, "sim-lamp", "initial: keep")
	lamp.(*sim.Relay).SetName("porch-light")
	if err := lamp.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	w.SetLine(sim.PorchLamp, false)
	w.SetFridge("beer")
	var got []string
	for _, e := range w.Log() {
		got = append(got, e.Device+": "+e.What)
	}
	want := []string{"porch-light: porch-lamp on", "hand: porch-lamp off", `hand: fridge: ["beer"]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
