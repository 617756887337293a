package interpret_test

import (
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// spills are two spots in one room.
var spills = []capabilities.WorkArea{
	{Name: "kitchen", Room: "kitchen"},
	{Name: "hall", Room: "hall"},
	{Name: "near sink", Room: "kitchen", Note: "rice spill"},
	{Name: "by stove", Room: "kitchen", Note: "crumbs"},
}

// exampleHome is a home with one device of most classes, and two lamps in the living room.
func exampleHome() capabilities.Home {
	lamp := func(name, label, area string) capabilities.Device {
		return capabilities.Device{
			Name: name, Label: label, Class: "light", Area: area,
			Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}, Quantities: []string{},
		}
	}
	camera := func(name, label, area string, commands []capabilities.Command, sees ...string) capabilities.Device {
		return capabilities.Device{Name: name, Label: label, Class: "camera", Area: area, FieldOfView: sees, Commands: commands}
	}
	porch := lamp("porch-lamp", "porch light", "porch")
	porch.Aliases, porch.VerificationCamera = []string{"front door light"}, "porch-cam"
	return capabilities.Home{Devices: []capabilities.Device{
		porch,
		lamp("reading-lamp", "reading lamp", "living room"),
		lamp("ceiling", "ceiling light", "living room"),
		camera("porch-cam", "porch camera", "porch", []capabilities.Command{capabilities.TakePhoto}, "porch", "front door"),
		camera("fridge-cam", "fridge camera", "kitchen", []capabilities.Command{capabilities.TakePhoto, capabilities.Observe}, "fridge"),
		{
			Name: "heater", Label: "heater", Class: "heater", Area: "bathroom", Risk: capabilities.RiskAppliance,
			Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState},
		},
		{
			Name: "robot", Label: "vacuum", Class: "vacuum", Area: "hall", WorkAreas: spills,
			Commands: []capabilities.Command{capabilities.Clean, capabilities.Dock, capabilities.ReadState},
		},
		{Name: "bath-climate", Label: "bathroom sensor", Class: "thermometer", Area: "bathroom", Commands: []capabilities.Command{capabilities.ReadState}},
		{Name: "back-door", Label: "back door", Class: "contact-sensor", Area: "kitchen", Commands: []capabilities.Command{capabilities.ReadState}},
		{Name: "front-lock", Label: "front door lock", Class: "lock", Area: "porch", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}},
	}}
}

func resolver() *interpret.Interpreter {
	return interpret.New(catalog.Default(), exampleHome())
}

func ask(intent string) mess.Request { return mess.Request{Intent: intent} }
