package sim_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/sim"
	"github.com/messkit/messkit/internal/strictyaml"
)

// open opens a device of a kind like a program.
func open(shared *drivers.Shared, kind, config string) (drivers.Device, error) {
	for _, k := range sim.Kinds() {
		if k.Name == kind {
			return k.Open(env(shared), func(out any) error { return strictyaml.Decode("c.yaml", []byte(config), out) })
		}
	}
	return nil, errors.New("no kind " + kind)
}

func kind(name string) drivers.Kind {
	kinds := sim.Kinds()
	return kinds[slices.IndexFunc(kinds, func(k drivers.Kind) bool { return k.Name == name })]
}

func env(shared *drivers.Shared) drivers.Env {
	return drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: shared}
}

// started opens a device and starts it.
func started(t *testing.T, shared *drivers.Shared, kind, config string) drivers.Device {
	t.Helper()
	d, err := open(shared, kind, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

func worldOf(t *testing.T, shared *drivers.Shared) *sim.World {
	t.Helper()
	w, err := sim.WorldOf(env(shared))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Every kind passes the conformance suite, with the world as the reference.
func TestKindsConform(t *testing.T) {
	for _, k := range []struct{ kind, config, line string }{
		{kind: "sim-camera", config: "room: porch"},
		{kind: "sim-camera", config: "room: kitchen"},
		{kind: "sim-lamp", line: sim.PorchLamp},
		{kind: "sim-lamp", config: "line: " + sim.LivingRoomLamp, line: sim.LivingRoomLamp},
		{kind: "sim-lamp", config: "file: " + filepath.Join(t.TempDir(), "line"), line: sim.PorchLamp},
		{kind: "sim-bulb", line: sim.PorchLamp},
		{kind: "sim-bulb", config: "file: " + filepath.Join(t.TempDir(), "bulb"), line: sim.PorchLamp},
		{kind: "sim-plug", line: sim.CoffeeMachine},
		{kind: "sim-rover", line: "rover"},
		{kind: "sim-rover", config: "file: " + filepath.Join(t.TempDir(), "rover"), line: "rover"},
		{kind: "sim-cover", config: "line: garage-door"},
		{kind: "sim-cover", config: "{line: bedroom-blind, takes: 200ms}"},
		{kind: "sim-servo", config: "{min: 20, max: 160, takes: 30ms, positions: {left: 30}}"},
		{kind: "sim-servo", config: "{park: 90}"},
		{kind: "sim-thermostat", line: "heater", config: "{safe: off}"},
		{kind: "sim-thermostat", line: "stove", config: "{line: stove, min: 12, max: 24, safe: off}"},
		{kind: "sim-lock", config: "line: front-door"},
		{kind: "sim-meter", config: "line: porch-lamp", line: "porch-lamp"},
		{kind: "sim-sensor", config: "reads: [{quantity: temperature, value: 21.5}]"},
		{kind: "sim-printer", config: "takes: 2s"},
		{kind: "sim-vacuum", config: "pace: 40ms"},
	} {
		t.Run(k.kind+" "+k.config, func(t *testing.T) {
			var world *sim.World // world of the last opened device
			drivertest.Run(t, func(t *testing.T) drivers.Device {
				var shared drivers.Shared
				d, err := open(&shared, k.kind, k.config)
				if err != nil {
					t.Fatal(err)
				}
				world = worldOf(t, &shared)
				return d
			},
				drivertest.Safe(func() error {
					if world.Moving() || world.Line(k.line) {
						return errors.New("something moves or is on")
					}
					return nil
				}),
				drivertest.Acts(func() int { return len(world.Log()) }),
				drivertest.Level(func() bool { return world.Line(k.line) }),
				drivertest.Force(func(on bool) { world.SetLine(k.line, on) }),
				drivertest.RunWatchdogCommand(kind(k.kind).RunWatchdogCommand),
			)
		})
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ kind, config, want string }{
		{"sim-camera", "", "room: is missing; write the room of the camera: fridge, kitchen, living-room, porch"},
		{"sim-camera", "room: attic", `room: "attic" is not in the simulated home`},
		{"sim-lamp", "safe: maybe", `safe: "maybe" is unknown; write on, off or keep`},
		{"sim-lamp", "initial: maybe", `initial: "maybe" is unknown; write on, off or keep`},
		{"sim-lamp", "line: ''", "line: is empty"},
		{"sim-plug", "pin: 3", "pin: unknown key; known keys: file, initial, line, safe"},
		{"sim-rover", "line: ''", "line: is empty"},
		{"sim-vacuum", "pace: 1ms", "pace: 1ms is too short"},
		{"sim-cover", "{}", "line: is missing"},
		{"sim-cover", "{line: a, takes: -1s}", "takes: -1s is negative"},
		{"sim-servo", "min: 170\nmax: 20", "min: 170 to 20 degrees is invalid"},
		{"sim-servo", "positions: {left: 200}", "positions: left: 200 degrees is outside of the limits of the device, 0 to 180"},
		{"sim-servo", "park: 181", "park: 181 degrees is outside of 0 to 180"},
		{"sim-servo", "takes: 1h", "takes: 1h0m0s is not between"},
		{"sim-thermostat", "min: 30\nmax: 10", "min: 30 to 10 °C is invalid"},
		{"sim-printer", "files: []", "files: a name is missing"},
		{"sim-printer", "takes: 1ms", "takes: 1ms is not between a second and a day"},
		{"sim-lock", "{}", "line: is missing"},
		{"sim-meter", "watts: -1", "watts: -1 is invalid"},
		{"sim-meter", "volts: 1", "volts: unknown key; known keys: file, initial, line, runs, safe, standby, watts"},
		{"sim-meter", "line: ''", "line: is empty"},
		{"sim-sensor", "{}", "reads: is empty"},
		{"sim-sensor", "reads: [{value: 3}]", "a quantity is missing"},
	} {
		_, err := open(&drivers.Shared{}, c.kind, c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v", c.kind, c.config, err)
		}
	}
}
