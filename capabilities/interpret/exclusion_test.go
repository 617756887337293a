package interpret_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// lamps is a home with a lamp in each of four rooms, a pump, a camera and a vacuum.
func lamps() *interpret.Interpreter {
	home := capabilities.Home{Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	for _, area := range []string{"kitchen", "hall", "bedroom", "porch"} {
		home.Devices = append(home.Devices, capabilities.Device{
			Name: area + "-light", Class: "light", Area: area,
			Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState, capabilities.Toggle, capabilities.Dim, capabilities.SetColor},
		})
	}
	home.Devices = append(home.Devices,
		capabilities.Device{Name: "pump", Class: "pump", Area: "garden", Commands: []capabilities.Command{capabilities.SetSwitch}},
		capabilities.Device{Name: "heater", Class: "heater", Area: "hall", Commands: []capabilities.Command{capabilities.SetSwitch}},
		capabilities.Device{
			Name: "vacuum", Class: "vacuum", Commands: []capabilities.Command{capabilities.Clean, capabilities.Dock},
			WorkAreas: []capabilities.WorkArea{{Name: "kitchen", Room: "kitchen"}, {Name: "hall", Room: "hall"}, {Name: "bedroom", Room: "bedroom"}},
		},
	)
	return interpret.New(catalog.Default(), home)
}

// devicesOf returns the devices of a plan, in its order.
func devicesOf(p *capabilities.Plan) string {
	var list []string
	for _, step := range p.Each() {
		list = append(list, step.Device)
	}
	return strings.Join(list, " ")
}

// The plan leaves out the named devices. An exclusion of an unknown name does nothing.
func TestExclusionLeavesDevicesOut(t *testing.T) {
	r := lamps()
	for text, want := range map[string]string{
		"turn off all lights except the kitchen":                          "hall-light bedroom-light porch-light",
		"turn off all lights except the kitchen light":                    "hall-light bedroom-light porch-light",
		"turn off all the lights but the kitchen and the hall":            "bedroom-light porch-light",
		"turn off the lights, except for the kitchen, the hall and porch": "bedroom-light",
		"turn all lights except the hall light off":                       "kitchen-light bedroom-light porch-light",
		"all lights off except the kitchen one and the hall one":          "bedroom-light porch-light",
		"all lights off apart from the one in the bedroom":                "kitchen-light hall-light porch-light",
		"dim all lights except the kitchen to 20%":                        "hall-light bedroom-light porch-light",
		"make every light but the porch light red":                        "kitchen-light hall-light bedroom-light",
		"turn off all lights except the kitchen in ten minutes":           "hall-light bedroom-light porch-light",
		"turn off all lights except the kitchen and turn on the heater":   "hall-light bedroom-light porch-light heater",
	} {
		out := r.Resolve(ask(text))
		if out.Plan == nil {
			t.Errorf("%q: %+v, want a plan for %s", text, out, want)
			continue
		}
		if got := devicesOf(out.Plan); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if later := strings.Contains(text, "ten minutes"); later == out.Plan.NotBefore.IsZero() {
			t.Errorf("%q begins at %v", text, out.Plan.NotBefore)
		}
	}
	for _, text := range []string{
		"turn off all lights except the heater", "turn off all lights except the garage", "turn off all lights except two", "turn off all lights except on sundays",
		"turn off the kitchen light except the hall", "turn off all lights except the lights", "turn off all lights except the kitchen except the hall",
		"do not turn off all lights except the kitchen", "turn off all lights except the kitchen and perhaps the hall", "turn off everything except the kitchen",
		"turn off all lights except", "turn off all lights except if it rains", "vacuum the kitchen except the hall", "vacuum everywhere except the garage",
		"vacuum everywhere except the kitchen, the hall and the bedroom",
	} {
		if out := r.Resolve(ask(text)); out.Plan != nil {
			t.Errorf("%q would %s", text, out.Plan.Summary)
		}
	}
	out := r.Resolve(ask("vacuum everywhere except the kitchen"))
	if out.Plan == nil {
		t.Fatalf("vacuum everywhere except the kitchen: %+v, want a plan", out)
	}
	if areas, _ := out.Plan.Args.Get("areas"); !slices.Equal(areas.([]string), []string{"hall", "bedroom"}) {
		t.Errorf("vacuum everywhere except the kitchen: %v, want the hall and the bedroom", areas)
	}
	req := ask("turn off all lights except the kitchen")
	req.Requires = []mess.Capability{needs("switch-off", "devices", []any{"kitchen-light"})}
	if out := r.Resolve(req); out.Plan != nil {
		t.Errorf("requires against the exception: would %s", out.Plan.Summary)
	}
}

// "Twice" is two steps of an act that can follow itself. The interpreter refuses it for any
// other act.
func TestRepetitionIsAPlanWithSteps(t *testing.T) {
	r := lamps()
	for text, want := range map[string]string{
		"vacuum the kitchen twice":                           "vacuum vacuum",
		"vacuum the kitchen two times":                       "vacuum vacuum",
		"vacuum the kitchen twice and dock the vacuum":       "vacuum vacuum vacuum",
		"toggle the hall light three times":                  "hall-light hall-light hall-light",
		"dim the hall light twice":                           "hall-light hall-light",
		"pulse the pump for two seconds three times":         "pump pump pump",
		"pulse the pump twice for two seconds":               "pump pump",
		"turn on the hall light for five minutes, two times": "hall-light hall-light",
	} {
		out := r.Resolve(ask(text))
		if out.Plan == nil {
			t.Errorf("%q: %+v, want a plan for %s", text, out, want)
			continue
		}
		if got := devicesOf(out.Plan); got != want || out.Plan.Capability != capabilities.SeveralCapabilities {
			t.Errorf("%q: %s of %s, want %s of several, so that a failure ends it", text, got, out.Plan.Capability, want)
		}
	}
	out := r.Resolve(ask("pulse the pump for two seconds three times"))
	for i, step := range out.Plan.Steps {
		if want := 4 * time.Second; i > 0 && step.After != want || step.For != 2*time.Second {
			t.Errorf("step %d: after %v for %v, want %v for 2s: it is off as long as it is on", i, step.After, step.For, want)
		}
	}
	if out := r.Resolve(ask("vacuum the kitchen 13 times")); out.Question == nil {
		t.Errorf("vacuum the kitchen 13 times: %+v, want a question, for that is much", out)
	}
	for _, text := range []string{
		"turn on the hall light twice", "turn off all lights three times", "turn on the pump twice", "vacuum the kitchen 21 times", "vacuum the kitchen 0 times",
		"vacuum the kitchen many times", "turn on the hall light for an hour three times", "twice", "vacuum the kitchen twice daily",
	} {
		if out := r.Resolve(ask(text)); out.Plan != nil {
			t.Errorf("%q would %s", text, out.Plan.Summary)
		}
	}
	req := ask("turn on the hall light twice")
	req.Requires = []mess.Capability{needs("toggle", "devices", []any{"hall-light"})}
	if out := r.Resolve(req); out.Plan != nil {
		t.Errorf("twice beside requires: would %s", out.Plan.Summary)
	}
}
