package sim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim"
)

// obey executes an order like another process.
func obey(t *testing.T, order []byte) bool {
	t.Helper()
	for _, k := range sim.Kinds() {
		if k.Name == "sim-lamp" {
			changed, err := k.RunWatchdogCommand(order)
			if err != nil {
				t.Fatal(err)
			}
			return changed
		}
	}
	t.Fatal("no sim-lamp")
	return false
}

func orders(d drivers.Device) drivers.WatchdogCommands {
	return d.(drivers.WatchdogTarget).WatchdogCommands()
}

// A line in a file keeps its state when the program ends, and any process with the orders
// can switch it.
func TestLineInFileSurvivesProgram(t *testing.T) {
	name := filepath.Join(t.TempDir(), "line")
	config := "{initial: keep, safe: 'on', file: " + name + "}"
	first := started(t, &drivers.Shared{}, "sim-lamp", config)
	if err := first.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	second := started(t, &drivers.Shared{}, "sim-lamp", config) // after a crash of the first
	is := func(want bool, when string) {
		t.Helper()
		if on, err := second.(drivers.SwitchReader).On(t.Context()); err != nil || on != want {
			t.Errorf("%s: %t, %v", when, on, err)
		}
	}
	is(true, "after the start")
	o := orders(first)
	if !obey(t, o.Off) || obey(t, o.Off) {
		t.Error("off is obeyed once, and has nothing to change then")
	}
	is(false, "after the order to go off")
	if !obey(t, o.Safe) {
		t.Error("the safe state is on, and it was on already")
	}
	is(true, "after the order to be safe")
	log, err := os.ReadFile(name)
	if err != nil || strings.Count(string(log), "\n") != 3 || !strings.Contains(string(log), `"it (guard)"`) {
		t.Errorf("%s, %v", log, err)
	}
}

func TestOrdersOfALamp(t *testing.T) {
	for _, c := range []struct {
		config    string
		off, safe bool
	}{
		{"safe: keep", false, false},
		{"safe: 'off'", false, false},
		{"{file: x, safe: keep}", true, false},
		{"{file: x, safe: 'off'}", true, true},
	} {
		lamp, err := open(&drivers.Shared{}, "sim-lamp", c.config)
		if err != nil {
			t.Fatal(err)
		}
		if o := orders(lamp); (o.Off != nil) != c.off || (o.Safe != nil) != c.safe {
			t.Errorf("%s: %s, %s", c.config, o.Off, o.Safe)
		}
	}
}

func TestLineHasOneFile(t *testing.T) {
	var shared drivers.Shared
	for _, c := range []struct {
		config string
		ok     bool
	}{{"file: a", true}, {"file: a", true}, {"file: b", false}, {"{file: b, line: other}", true}} {
		if _, err := open(&shared, "sim-lamp", c.config); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.config, err)
		}
	}
}

func TestImpossibleFileOfLineIsRejected(t *testing.T) {
	lamp, err := open(&drivers.Shared{}, "sim-lamp", "file: "+filepath.Join(t.TempDir(), "no", "line"))
	if err != nil {
		t.Fatal(err)
	}
	if err := lamp.Start(); err == nil {
		t.Error("Start succeeds, want an error")
	}
}
