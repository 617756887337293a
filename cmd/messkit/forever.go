package main

import (
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/strictyaml"
)

// hazards are the classes of what heats, pours or howls: what should not be on
// for ever because somebody forgot it.
var hazards = []string{"coffee-machine", "heater", "humidifier", "kettle", "oven", "pump", "rice-cooker", "siren"}

// forever tells which hazards stay on until somebody switches them off. That is
// no mistake: check tells it, and goes on.
func (h *home) forever(nodes map[string]strictyaml.Node) (notes strictyaml.Problems) {
	for _, d := range h.devices {
		if _, switches := d.dev.(drivers.Switch); switches && d.Limits.MaxOn == 0 && slices.Contains(hazards, d.class()) {
			notes = append(notes, nodes[d.name].Problem("", "nothing switches it off by itself once it is on; limits: {max_on: 2h} does"))
		}
	}
	return notes
}
