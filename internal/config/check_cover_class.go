package config

import (
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/strictyaml"
)

// missingClassNotes returns a note for each cover without a class, which messkit treats as a door.
// A note is no error. The command check prints it and continues.
func (h *DeviceSet) missingClassNotes(nodes map[string]strictyaml.Node) (notes strictyaml.Problems) {
	for _, d := range h.Devices {
		if _, opens := d.Dev.(drivers.Opener); opens && d.Class == "" && d.Risk == "" && d.EffectiveClass() == "door" {
			notes = append(notes, nodes[d.Name].Problem("", "its class is unknown, so messkit takes it for a door, and a person must confirm; write class: blind, garage-door, gate, window, valve or door"))
		}
	}
	return notes
}
